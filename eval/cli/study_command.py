"""The command of a study: its options are those of its model, its output is its report."""

from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from assay.eval.cli import options
from assay.eval.running.study import Argument, F, Lab, O, Study

BOUNDS = {Ge: ("ge", "min"), Gt: ("gt", "min"), Le: ("le", "max"), Lt: ("lt", "max")}


def make_command(study: Study[O, F]) -> click.Command:
    """Return the command of a study; its help is the first paragraphs of the study's docstring."""

    def call(as_json: bool, **given: Any) -> None:
        from assay.eval.cli.output import present
        from assay.eval.cli.report_screen import print_report
        from assay.eval.progress import ConsoleProgress
        from assay.eval.report.files import write_blocks

        lab = Lab(ConsoleProgress())
        found = study.find(study.options.model_validate(given), lab)
        told = study.report(found)
        page = write_blocks(found, told, lab.reports / told.id)
        present(found, as_json, lambda _: print_report(told), report=page)

    fields = study.options.model_fields.items()
    parameters = [_make_parameter(name, field) for name, field in fields]
    command = click.Command(study.name, callback=call, params=parameters, help=study.__doc__)
    return options.FULL(options.JSON(command))


def _make_parameter(name: str, field: FieldInfo) -> click.Parameter:
    """Return the argument or option of a field."""
    kind, many, given = _find_kind(field)
    argument = next((item for item in field.metadata if isinstance(item, Argument)), None)
    required = field.is_required()
    if argument:
        nargs = -1 if many else 1
        return click.Argument(
            [name], type=kind, nargs=nargs, required=required, metavar=argument.metavar or None
        )
    default = None if required else field.get_default(call_default_factory=True)
    told: dict[str, Any] = {} if required else {"default": default}
    return click.Option(
        [f"--{name.replace('_', '-')}" if len(name) > 1 else f"-{name}"],
        type=None if given is bool else kind,
        is_flag=given is bool,
        multiple=many,
        required=required,
        show_default=default not in (None, (), False),
        help=field.description,
        **told,
    )


def _find_kind(field: FieldInfo) -> tuple[click.ParamType[Any] | None, bool, Any]:
    """Return the type of a field's values, whether there may be many, and its plain type."""
    plain: Any = field.annotation
    if NoneType in get_args(plain):
        (plain,) = (item for item in get_args(plain) if item is not NoneType)
    many = get_origin(plain) is tuple
    if many:
        plain = get_args(plain)[0]
    if get_origin(plain) is Literal:
        return click.Choice(get_args(plain)), many, plain
    if plain is Path:
        return click.Path(path_type=Path), many, plain
    if plain in (int, float):
        return _bound(plain, field), many, plain
    return (click.STRING if plain is str else None), many, plain


def _bound(plain: type, field: FieldInfo) -> click.ParamType[Any]:
    """Return the type of a number between the bounds of its field."""
    ends: dict[str, Any] = {}
    for item in field.metadata:
        if type(item) in BOUNDS:
            key, end = BOUNDS[type(item)]
            ends[end] = getattr(item, key)
            ends[f"{end}_open"] = key in ("gt", "lt")
    return click.IntRange(**ends) if plain is int else click.FloatRange(**ends)

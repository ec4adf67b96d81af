"""Commands whose options are those of a model: of a study, whose report is shown, and others."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from assay.eval.cli import options
from assay.eval.running.study import (
    Argument,
    F,
    Lab,
    O,
    Option,
    Study,
    StudyOptions,
    Written,
)

BOUNDS = {Ge: ("ge", "min"), Gt: ("gt", "min"), Le: ("le", "max"), Lt: ("lt", "max")}


def make_command(study: Study[O, F]) -> click.Command:
    """Return the command of a study; its help is the docstring of the study's `find`."""

    def call(as_json: bool, no_track: bool = True, **given: Any) -> None:
        from assay.eval.cli.output import print_json, track
        from assay.eval.cli.report_screen import print_report
        from assay.eval.progress import ConsoleProgress
        from assay.eval.runs.json_form import to_json

        asked, lab = read_options(study.options, given), Lab(ConsoleProgress())
        if preview := study.preview(asked, lab):
            if as_json:
                print_json(preview.json)
            for line in () if as_json else preview.lines:
                click.echo(line)
            return
        found = study.find(asked, lab)
        told = study.report(found)
        if not as_json:  # files take a second, for which nobody need wait
            print_report(told, titled=study.titled)
        written = study.write(found, told, asked, lab)
        if written.said:
            lab.progress.say(written.said)
        tracked: dict[str, str | Sequence[str] | None] = {}
        if study.log and written.files:
            send = partial(study.log, found, written.files, lab)
            kept = f"the report is kept in {written.files[0].parent}"
            tracked = {study.logged: track(no_track, send, kept, lab.progress)}
        elif study.log:
            tracked = {study.logged: None}
        if as_json:
            shown = study.shown(found) if study.shown else found
            print_json({**to_json(shown), **_name_places(written), **tracked})
        else:
            _print_end(written, tracked)
        if status := study.status(found):
            sys.exit(status)

    parameters = list_parameters(study.options)
    command = click.Command(study.name, callback=call, params=parameters, help=study.find.__doc__)
    if study.log:
        options.NO_TRACK(command)
    vars(command)["printed"] = study
    return options.FULL(options.JSON(command))


def takes(options: type[StudyOptions]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the arguments and options of a model, and call it with that model."""

    def offer(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            mine = {name: given.pop(name) for name in options.model_fields}
            return command(read_options(options, mine), **given)

        others = getattr(command, "__click_params__", [])
        # As decorators leave them: the last comes first.
        vars(call)["__click_params__"] = [*others, *reversed(list_parameters(options))]
        return call

    return offer


def read_options(options: type[O], given: Mapping[str, Any]) -> O:
    """Return the options that were given. Raises UsageError naming the one that is wrong."""
    from assay.retrievers.settings import explain_error

    try:
        return options.model_validate(
            {name: value for name, value in given.items() if value not in (None, ())}
        )
    except ValidationError as error:
        context = click.get_current_context()
        named = str(next(iter(error.errors()[0]["loc"]), ""))
        parameter = next((one for one in context.command.params if one.name == named), None)
        told = explain_error(error).removeprefix(f"{named}: ")
        if parameter is None:
            raise click.UsageError(told, context) from None
        raise click.BadParameter(told, context, parameter) from None


def _name_places(written: Written) -> dict[str, Any]:
    """Return the places of the files of a finding, as JSON values."""
    return {
        name: [str(path) for path in place] if isinstance(place, Sequence) else place and str(place)
        for name, place in written.places.items()
    }


def _print_end(written: Written, tracked: Mapping[str, str | Sequence[str] | None]) -> None:
    """Print the places of a finding, and the next steps."""
    from assay.eval.cli.output import print_next, print_places

    places = {
        "config" if name == "output" else name: place
        for name, place in written.places.items()
        if not isinstance(place, Sequence)
    }
    print_places(**places)
    for name, ids in tracked.items():
        for id_ in [ids] if isinstance(ids, str) else ids or ():
            print_places(**{name.removesuffix("s"): id_})
    if written.next:
        print_next(*written.next)


def list_parameters(options: type[StudyOptions]) -> list[click.Parameter]:
    """Return the arguments and options of a model; an argument that takes many comes last."""
    made = [_make_parameter(name, field) for name, field in options.model_fields.items()]
    return sorted(made, key=lambda one: isinstance(one, click.Argument) and one.nargs == -1)


def _make_parameter(name: str, field: FieldInfo) -> click.Parameter:
    """Return the argument or option of a field."""
    told = next((item for item in field.metadata if isinstance(item, Option)), Option())
    argument = next((item for item in field.metadata if isinstance(item, Argument)), None)
    kind, many, given = _find_kind(field, told)
    required = field.is_required()
    if argument:
        nargs = -1 if many else 1
        return click.Argument(
            [name], type=kind, nargs=nargs, required=required, metavar=argument.metavar or None
        )
    default = None if required else field.get_default(call_default_factory=True)
    if isinstance(default, tuple) or (kind is click.STRING and not isinstance(default, str)):
        default = None
    shown = default not in (None, "", (), False)
    short = (f"-{name}",) if len(name) == 1 else ()
    names = told.names or (*short, f"--{name.replace('_', '-')}")
    given_default: dict[str, Any] = {} if required else {"default": default}
    return click.Option(
        [*names, name],
        type=None if given is bool else kind,
        is_flag=given is bool,
        multiple=many,
        required=required,
        show_default=shown,
        metavar=told.metavar or None,
        help=field.description,
        **given_default,
    )


def _find_kind(field: FieldInfo, told: Option) -> tuple[click.ParamType[Any] | None, bool, Any]:
    """Return the type of a field's values, whether there may be many, and its plain type."""
    plain = _strip(field.annotation)
    if NoneType in get_args(plain):
        plain = _strip(next(item for item in get_args(plain) if item is not NoneType))
    if told.text:
        return click.STRING, False, str
    many = get_origin(plain) is tuple
    if many:
        plain = get_args(plain)[0]
    if get_origin(plain) is Literal:
        return click.Choice(get_args(plain)), many, plain
    if plain is Path:
        return _make_path(told), many, plain
    if plain is datetime:
        return click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), many, plain
    if plain in (int, float):
        return _bound(plain, field), many, plain
    return (click.STRING if plain is str else None), many, plain


def _strip(annotation: Any) -> Any:
    """Return a type without its annotations."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _make_path(told: Option) -> click.ParamType[Path]:
    return click.Path(
        path_type=Path,
        exists=told.path == "existing",
        dir_okay=told.path != "file",
        file_okay=told.path != "folder",
    )


def _bound(plain: type, field: FieldInfo) -> click.ParamType[Any]:
    """Return the type of a number between the bounds of its field."""
    ends: dict[str, Any] = {}
    for item in field.metadata:
        if type(item) in BOUNDS:
            key, end = BOUNDS[type(item)]
            ends[end] = getattr(item, key)
            ends[f"{end}_open"] = key in ("gt", "lt")
    return click.IntRange(**ends) if plain is int else click.FloatRange(**ends)

"""`assay engines`: the engines usable here, their conformance, and the indexes they leave."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import click
from pydantic import Field

from assay.eval.cli import options
from assay.eval.cli.output import print_json
from assay.eval.cli.report_screen import print_report
from assay.eval.cli.study_command import takes
from assay.eval.running.study import Argument, StudyOptions

if TYPE_CHECKING:
    from assay.eval.studies.stores.engines.inventory import Removable


class CleanOptions(StudyOptions):
    """The engines that are cleaned, and what is dropped."""

    names: Annotated[tuple[str, ...], Argument("[ENGINE]...")] = ()
    dry_run: bool = Field(False, description="Only say what would be removed.")


@click.group()
def engines() -> None:
    """List the engines, check them, and remove what they keep."""


@engines.command("list")
@options.FULL
@options.prints(
    engines=["eval.studies.stores.engines.inventory:EngineState"],
    providers=["eval.studies.stores.engines.inventory:ProviderState"],
)
def list_(as_json: bool) -> None:
    """List every engine with its state here.

    Shows what each engine can do; --full says what the words mean. Servers whose address is set are
    contacted.
    """
    from assay.eval.studies.stores.engines.inventory import describe_engines, list_providers
    from assay.eval.studies.stores.engines.report import report

    found, providers = list(describe_engines()), list(list_providers())
    if as_json:
        print_json({"engines": found, "providers": providers})
        return
    print_report(report(found, providers))


@engines.command()
@click.argument("names", nargs=-1, metavar="[ENGINE [KEY=VALUE]...]...")
@options.prints(engines=["eval.studies.stores.engines.conformance:EngineConformance"])
def conformance(names: tuple[str, ...], as_json: bool) -> None:
    """Check engines by every rule.

    They are ENGINE and others, or all that can be used here. KEY=VALUE changes a setting of the
    ENGINE before it. An engine that is built again and answers otherwise has to declare that it is
    not reproducible: runs that search it are then `nondeterministic`, and a stored one never stands
    for a new one.

    Exit code: 0 all keep the rules; 1 one does not; 2 bad input.
    """
    from assay.eval.configs.engine_settings import choose_engines
    from assay.eval.studies.stores.engines.conformance import check_engine

    found = [check_engine(engine) for engine in choose_engines(names)]
    if as_json:
        print_json({"engines": found})
    else:
        for each in found:
            kept = each.rules - len(each.broken)
            click.echo(f"{each.engine}: keeps {kept} of {each.rules} rules")
            for rule, problem in each.broken.items():
                click.echo(f"{each.engine}: breaks {rule}: {problem}")
    if any(each.broken for each in found):
        sys.exit(1)


@engines.command()
@takes(CleanOptions)
@options.prints(dry_run=bool, removed=["eval.studies.stores.engines.inventory:Removable"])
def clean(asked: CleanOptions, as_json: bool) -> None:
    """Drop every index that Assay made on servers.

    On those of ENGINE, or of all that are configured. Half-made ones, of processes that were
    killed, are among them, as are temporary copies that such processes left on this machine. What
    is needed is made again. Nothing else is touched: an index counts only where its name and the
    note in it are those that Assay gives. Indexes of embedded engines are in the cache: `assay
    cache clear KIND` removes them.
    """
    from assay.eval.studies.stores.engines.inventory import clean as clean_all
    from assay.retrievers.base import AssayError

    cleaned = clean_all(asked.names, asked.dry_run)
    if as_json:
        print_json({"dry_run": asked.dry_run, "removed": cleaned.removed})
    else:
        _print(cleaned.removed, asked.dry_run, bool(cleaned.problems))
    if cleaned.problems:
        raise AssayError("\n".join(cleaned.problems))


def _print(removed: "Sequence[Removable]", dry_run: bool, failed: bool) -> None:
    verb = "would remove" if dry_run else "removed"
    for item in removed:
        click.echo(f"{verb} {item.engine} {item.name}: {item.detail}, {_size(item.bytes)}")
    if not removed and not failed:
        click.echo("nothing to remove")


def _size(size: int | None) -> str:
    return "size not reported" if size is None else f"{size:,} bytes"

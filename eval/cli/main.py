"""The command line `assay`. Commands are imported when they are called, so that help is quick."""

import atexit
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from assay.eval import tracking_failures
from assay.eval.cli.commands import COMMANDS, GROUPS

DEBUG = "--debug"  # allowed anywhere among the arguments


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, group by group."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        entry = COMMANDS[cmd_name]
        module, _, name = entry.place.partition(":")
        room = "studies" if "." in module else "cli"
        command = getattr(importlib.import_module(f"assay.eval.{room}.{module}"), name)
        if room == "studies":
            from assay.eval.cli.study_command import make_command

            command = make_command(command)
        assert isinstance(command, click.Command)
        _prepare(command)
        calls = "\n".join(f"  assay {call}" for call in entry.examples)
        command.epilog = f"\b\nExamples:\n{calls}"
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; end with 3 if it did its work, but a tracking store failed."""
        with tracking_failures.collect_failures() as failed:
            try:
                done = super().invoke(ctx)
            finally:
                _refresh_overview()
        if failed:
            code = tracking_failures.EXIT_CODE
            line = f"assay: NOT TRACKED: {failed[0]} failed, see above; exit code {code}"
            click.echo(line, err=True)
            ctx.exit(code)
        return done

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of a command, itself, and what follows. Raises UsageError."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from assay.retrievers.base.suggestions import suggest

            ctx.fail(f"No such command '{args[0]}'{suggest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, from the table alone."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), entry.summary) for name, entry in commands.items()]
                )


def _refresh_overview() -> None:
    """Write the page of all reports if a command has stored one, even if it failed."""
    from assay.eval.configs.locations import reports_folder
    from assay.eval.studies.run.overview_state import is_stale
    from assay.retrievers.base import AssayError

    with suppress(OSError, AssayError):  # the page is there for convenience alone
        if is_stale(reports := reports_folder()):
            from assay.eval.studies.run.overview import write_overview

            write_overview(reports)


def _trust(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        os.environ["ASSAY_TRUST"] = "1"


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from assay.eval.runs.environment import describe_version

        click.echo(f"assay, version {describe_version()}")
        context.exit()


TRUST = click.Option(
    ["--trust"],
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_trust,
    hidden=True,  # said once, in the help of `assay`
    help="Let configs and cards from elsewhere name code, addresses, variables and any folder.",
)


class NumberOption(click.Option):
    """An option whose help omits the range of its number; an error for a wrong one names it."""

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the facts that the help shows in brackets."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def _prepare(command: click.Command) -> None:
    """Give a command, or all of a group, the option that all commands have, and plain help."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _prepare(inner)
    elif not any("--trust" in option.opts for option in command.params):
        command.params.append(TRUST)
    for option in command.params:
        if isinstance(option, click.Option) and isinstance(
            option.type, click.IntRange | click.FloatRange
        ):
            option.__class__ = NumberOption  # they are declared with types alone
            option.metavar = option.metavar or "NUMBER"


@click.group(cls=LazyGroup, invoke_without_command=True)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the version, in a checkout its commit, and exit.",
)
@click.option(
    DEBUG, is_flag=True, expose_value=False, help="Show where an error was raised (ASSAY_DEBUG=1)."
)
@click.pass_context
def assay(context: click.Context) -> None:
    """Which retrieval pipeline should I ship, and can I believe the difference?

    New here? Run assay demo, then assay init with your own documents. In a folder with an
    assay.toml, assay alone says where you stand and what is next. Every command has --help, with
    two examples.

    Configs and cards from elsewhere may name code, addresses and folders only with --trust; `assay
    config show PATH --trust` shows what one asks for, and does none of it.
    """
    if context.invoked_subcommand is None:
        from assay.eval.configs.project import read_project

        project = read_project()
        if project is None:
            raise click.exceptions.NoArgsIsHelpError(context)
        from assay.eval.cli.standing import print_standing

        print_standing(project)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; end the process with 0, 1 (a defect), 2 (an error to fix) or 3.

    An error is reported in one line; --debug shows the traceback.
    """
    from assay.eval import no_telemetry
    from assay.eval.cli.streams import safe_streams

    no_telemetry.disable()
    # Rankings are millions of small objects without circles among them, which live long: looking
    # through them again and again for garbage takes as long as making them.
    gc.set_threshold(1_000_000, 50, 100)
    atexit.register(gc.freeze)  # so does the interpreter as it ends, several times
    warnings.formatwarning = _format_warning
    with safe_streams():
        _run(arguments)


def _format_warning(message: Warning | str, *_: object, **__: object) -> str:
    """Return a warning without the place in the code that gave it, which a user cannot change."""
    return f"warning: {message}\n"


def _run(arguments: Sequence[str] | None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if word != DEBUG]
    try:
        sys.exit(assay.main(words, prog_name="assay", standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (Exception, KeyboardInterrupt) as error:
        if _was_interrupted(error):
            click.echo("assay: interrupted; what was finished is kept", err=True)
            sys.exit(130)
        if _allow(error):
            _run(arguments)
        if words != given or os.environ.get("ASSAY_DEBUG", "0") not in ("", "0"):
            import traceback

            traceback.print_exception(error)
        line, status = _tell(error)
        from assay.eval.progress import break_line

        click.echo(break_line(f"assay: {line}"), err=True)
        sys.exit(status)


def _was_interrupted(error: BaseException | None) -> bool:
    """Return True if an error comes from an interrupt.

    One that occurs while Python makes a class is wrapped, and pydantic keeps only its name.
    """
    interrupts = (KeyboardInterrupt, click.Abort)
    while error and not isinstance(error, interrupts) and "KeyboardInterrupt:" not in str(error):
        error = error.__cause__ or error.__context__
    return error is not None


def _allow(error: BaseException) -> bool:
    """Ask on a terminal whether to allow a file's requests; return True to start again."""
    from assay.retrievers.settings.trust import SWITCH, TrustError

    if not (isinstance(error, TrustError) and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    asked = "\n".join(f"  {line}" for line in error.asked)
    click.echo(f"{error.path} lies outside {Path.cwd()} and asks for:\n{asked}", err=True)
    try:
        allowed = click.confirm("Allow it, as --trust does?", default=False, err=True)
    except click.Abort:
        return False
    if allowed:
        os.environ[SWITCH] = "1"
    return allowed


def _tell(error: BaseException) -> tuple[str, int]:
    """Return the message of an error, and the exit code: errors of files are the user's to fix."""
    from assay.retrievers.base import AssayError, explain_os_error

    if isinstance(error, AssayError):
        return str(error), error.status
    if isinstance(error, OSError):
        try:
            Path.cwd()
        except FileNotFoundError:
            return "the current folder is gone; change to one that is there", 2
        return explain_os_error(error), 2
    reason = " ".join(str(error).split())
    return f"a defect: {type(error).__name__}: {reason}; {DEBUG} shows where", 1

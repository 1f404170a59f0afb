"""The command `ncclinic`. Data goes to standard output, messages to standard error."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal

import typer

from assistant import __version__
from assistant.errors import UserError, strict

app = typer.Typer(
    help="Finds out why distributed training is slow, hangs or fails between nodes.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
knowledge_app = typer.Typer(help="Look after the knowledge base.", rich_markup_mode=None)
app.add_typer(knowledge_app, name="knowledge")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Without a command the conversation opens."""
    if version:
        print(f"ncclinic {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        chat()


@app.command()
def chat(
    plain: Annotated[bool, typer.Option("--plain", help="Line by line, for pipes and screen readers.")] = False,
    attach: Annotated[list[str] | None, typer.Option("--attach", help="A file to begin with; may be repeated.")] = None,
) -> None:
    """Open the conversation: describe the trouble, answer a question or two, get the cause and its fix."""
    from assistant.commands.chat import chat as run

    raise typer.Exit(run(plain=plain, attach=attach or []))


@app.command()
def triage(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files, folders, archives, or - for standard input.")
    ] = None,
    say: Annotated[
        list[str] | None, typer.Option("--say", metavar="TEXT", help="What the trouble is, in your own words.")
    ] = None,
    fact: Annotated[
        list[str] | None,
        typer.Option(
            "--fact",
            metavar="KEY=VALUE",
            help="Something you know: nodes=2, gpus_per_node=8, gpu=A100, network='infiniband HDR', gpu_state=idle, framework=pytorch, or any other.",
        ),
    ] = None,
    as_json: Json = False,
    form: Annotated[Literal["text", "md", "html"], typer.Option("--format", help="Form of the result.")] = "text",
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the result to FILE.")
    ] = None,
) -> None:
    """Diagnose from logs, scripts and tool output at once.

    Exit status: 0 no problem found, 1 problem found, 2 unusable input or arguments, 3 the evidence does not settle it.

        ncclinic triage train.log

        ncclinic triage --say "2 nodes of 8 A100, HDR InfiniBand, 4x slower than one node" logs/

        kubectl logs trainer-0 | ncclinic triage --json -
    """
    from assistant.commands.triage import triage as run

    raise typer.Exit(run(paths or [], say or [], fact or [], "json" if as_json else form, output))


@app.command()
def anonymize(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files, folders, archives, or - for standard input.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="OUT", help="A folder, an archive (.tar.gz, .tgz, .zip), or a file for one text."
        ),
    ] = None,
    map_file: Annotated[
        str | None, typer.Option("--map", metavar="FILE", help="Write which name became which; keep it to yourself.")
    ] = None,
    keep_hosts: Annotated[bool, typer.Option("--keep-hosts", help="Leave the names of hosts as they are.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over what exists.")] = False,
) -> None:
    """Copy logs without names, addresses and secrets, for showing them in public; the diagnosis stays the same.

    ncclinic anonymize logs/ -o public.tar.gz

    dmesg | ncclinic anonymize -
    """
    from assistant.commands.anonymize import anonymize as run

    raise typer.Exit(run(paths or [], output, map_file, keep_hosts, force))


@app.command()
def causes(
    cause: Annotated[str | None, typer.Argument(help="Show this cause whole.")] = None,
    as_json: Json = False,
) -> None:
    """List the causes that are told apart, or show one with its explanation, checks and fixes."""
    from assistant.commands.causes import causes as run

    raise typer.Exit(run(cause, as_json))


@knowledge_app.command("check")
def knowledge_check(only: Annotated[str, typer.Argument(help="Only files whose path contains this.")] = "") -> None:
    """Check every file of the knowledge base against its schema and run all its examples."""
    from assistant.selfcheck import check

    count = 0
    for problem in check(only):
        print(problem)
        count += 1
    print(f"{count} problems" if count else "no problems", file=sys.stderr)
    raise typer.Exit(1 if count else 0)


@knowledge_app.command("learn")
def knowledge_learn() -> None:
    """Make the word model anew from the tellings (needs the extra `words`)."""
    from knowledge.check import full_base
    from knowledge.words import FILE, learn, training_texts

    full, problems = full_base()
    if problems:
        raise UserError("the knowledge base has mistakes", "`ncclinic knowledge check` lists them.")
    try:
        learn(training_texts(full))
    except ImportError:
        raise UserError("scikit-learn is needed to learn", "pip install 'ncclinic[words]'") from None
    print(f"wrote {FILE}", file=sys.stderr)


@knowledge_app.command("sources")
def knowledge_sources(
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the page to FILE.")
    ] = None,
) -> None:
    """List every source that is read, with its versions and facts (docs/sources.md is made by this)."""
    from assistant.commands.sources import show

    raise typer.Exit(show(output))


def main() -> None:
    """Entry point: errors that a user can mend are told in two lines, without a traceback."""
    from knowledge.load import KnowledgeError

    try:
        app()
    except UserError as error:
        from assistant.intake.redact import redact
        from assistant.safe_text import safe

        print(f"ncclinic: {safe(redact(error.message))}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        sys.exit(2)
    except KnowledgeError as error:
        print(f"ncclinic: the knowledge base has mistakes:\n{error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        print(f"ncclinic: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if strict():
            raise
        print(f"ncclinic: a defect of ncclinic itself: {type(error).__name__}: {error}", file=sys.stderr)
        print("  Please report it with what NCCLINIC_STRICT=1 shows in addition.", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()

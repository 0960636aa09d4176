/** What a work item asks for, from the command line: shared by those that submit one now and those that will. */
import { type Command, Option } from 'commander'
import { LANES } from '../machines/run-request/lanes.ts'
import { collect, duration, jsonObject } from './arguments.ts'
import type { Document } from './document.ts'
import { CliFailure } from './exit.ts'
import { inputText, nameOf } from './input-file.ts'

/** Options of an item besides its objective, which is the operand TEXT or `--file`. */
export function workOptions(command: Command, kinds: readonly string[]): Command {
  return command
    .option('-f, --file <file>', 'Read what to do from this file; - for standard input.')
    .option('--base-ref <ref>', 'Start from this ref instead of trunk.')
    .option('--context <json>', 'Extra context for the engine: a JSON object, or @FILE.', jsonObject)
    .option('--label <label>', 'A label that the runner must have. May be repeated.', collect)
    .option('--runner <id>', 'Only this runner may take it.')
    .option('--timeout <duration>', 'Longest time that the run may take.', duration)
    .addOption(new Option('--kind <kind>', 'The kind of work. Default: task.').choices(kinds))
    .addOption(new Option('--lane <lane>', 'The lane that it waits in. Default: by its kind.').choices(LANES))
}

/** The same as members of a body; an option that was not given is undefined. */
export function workOf({ baseRef, context, label, runner, timeout, kind, lane }: any): Document {
  return {
    kind,
    lane,
    context,
    base_ref: baseRef,
    labels: label,
    runner_id: runner,
    timeout_seconds: timeout === undefined ? undefined : Math.ceil(timeout / 1000),
  }
}

/** What is to be done, from the operand or from a file. Throws CliFailure. */
export function objectiveOf(text: string, file: string | undefined): string {
  if ((file === undefined) === (text === ''))
    throw new CliFailure('Say what to do either as TEXT or with --file FILE (- for standard input).')
  if (file === undefined) return text
  const read = inputText(file).trimEnd()
  if (read.trim() === '') throw new CliFailure(`${nameOf(file)} is empty: it must say what to do.`)
  return read
}

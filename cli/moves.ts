/** Commands that change one thing: each names it first, and may say where the change comes from. */
import type { Argument, Command } from 'commander'
import { ORIGIN } from './arguments.ts'

/** Adds one such command to its group. */
export type Move = (name: string, description: string) => Command

/** The header that holds a move to the version that was read; none: to any. */
export function versionHeaders({ ifVersion }: { readonly ifVersion?: number }): Record<string, string> {
  return ifVersion === undefined ? {} : { 'if-match': `"${ifVersion}"` }
}

/** `operand` makes what each of them names. */
export function movesOf(group: Command, operand: () => Argument): Move {
  return (name, description) =>
    group
      .command(name)
      .description(description)
      .addArgument(operand())
      .option(...ORIGIN)
}

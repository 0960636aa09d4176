/** Commands that change one entity: each takes it as its first operand, and may state an origin. */
import type { Argument, Command } from 'commander'
import { ORIGIN } from './arguments.ts'

/** Adds such a command to its group. */
export type Move = (name: string, description: string) => Command

/** The header that restricts a move to the version that was read; empty: any version. */
export function versionHeaders({ ifVersion }: { readonly ifVersion?: number }): Record<string, string> {
  return ifVersion === undefined ? {} : { 'if-match': `"${ifVersion}"` }
}

/** `operand` creates the operand of each command. */
export function movesOf(group: Command, operand: () => Argument): Move {
  return (name, description) =>
    group
      .command(name)
      .description(description)
      .addArgument(operand())
      .option(...ORIGIN)
}

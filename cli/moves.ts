/** Commands that change one thing: each names it first, and may say where the change comes from. */
import type { Argument, Command } from 'commander'
import { ORIGIN } from './arguments.ts'

/** Adds one such command to its group. */
export type Move = (name: string, description: string) => Command

/** `operand` makes what each of them names. */
export function movesOf(group: Command, operand: () => Argument): Move {
  return (name, description) =>
    group
      .command(name)
      .description(description)
      .addArgument(operand())
      .option(...ORIGIN)
}

/** Commands that change one thing: each names it first, and may say where the change comes from. */
import type { Command } from 'commander'
import { ORIGIN } from './arguments.ts'

/** Adds one such command to its group. */
export type Move = (name: string, description: string) => Command

export function movesOf(group: Command, operand: string, which: string): Move {
  return (name, description) =>
    group
      .command(name)
      .description(description)
      .argument(operand, which)
      .option(...ORIGIN)
}

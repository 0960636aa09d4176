/** `intendant attention`: only what waits for a person, as a list or as it comes. */
import type { Command } from 'commander'
import { collect, LIMIT, shellCommand } from './arguments.ts'
import { followAttention } from './attention-follow.ts'
import { adviceFor, idOf, whatOf } from './attention-page.ts'
import { CliFailure } from './exit.ts'
import { execLimitOption } from './hook.ts'
import { list } from './lists.ts'
import { safe } from './print.ts'
import type { AttentionFilter } from './told-file.ts'
import type { Act, Cli } from './world.ts'

const HELP = `
With --follow it shows all that needs a person now, and then each thing as it begins to, until it is
stopped. With --json each is one line. A reason that has ended and begun again is told again.

With --exec the command is run for each instead, one after the other, with the item (JSON) on
standard input and its main facts in INTENDANT_CHANGE (began or ended), INTENDANT_REASON,
INTENDANT_KIND, INTENDANT_ID, INTENDANT_PROJECT, INTENDANT_SINCE, INTENDANT_WHAT and
INTENDANT_ADVICE. If it fails, it is run again after growing pauses for as long as the reason lasts.

Examples:
  intendant attention --project shop
  intendant attention --follow --ended --json
  intendant attention --follow --reason needs_decision,asked --state told --exec ./tell-me

More is in docs/NOTIFICATIONS.md.`

export function addAttention(program: Command, act: Act): void {
  program
    .command('attention')
    .description(
      'Show what needs a person: runs, items, campaigns, initiatives, sentinels, briefs, drift and hypotheses.',
    )
    .option('--project <key>', 'Only this project.')
    .option('--reason <reason>', 'Only this reason, as the list shows it. May be repeated.', collect)
    .option(LIMIT[0], 'Without --follow: show at most this many.', LIMIT[2], LIMIT[3])
    .option('--follow', 'Continue with each thing that begins to need a person.')
    .option(
      '--exec <command>',
      'With --follow: the shell command to run for each, instead of showing it.',
      shellCommand,
    )
    .option(
      '--state <file>',
      'With --follow: keep in this file what was told, so that a restart does not tell it again.',
    )
    .option('--ended', 'With --follow: tell also of what no longer needs a person.')
    .addOption(execLimitOption())
    .addHelpText('after', HELP)
    .action(act(attention))
}

async function attention(cli: Cli, _: readonly any[], options: any): Promise<void> {
  const { project, reason, limit, follow, exec, state, ended } = options
  const filter = { project, reason }
  if (follow) return await followAttention(cli, { ...options, filter })
  if (exec !== undefined || state !== undefined || ended !== undefined)
    throw new CliFailure('--exec, --state and --ended need --follow.')
  await showAttention(cli, filter, limit)
}

async function showAttention({ client, json, print }: Cli, filter: AttentionFilter, limit: number): Promise<void> {
  const { items, more } = await list(client, '/api/attention', limit, { ...filter })
  if (json) return print.json(items)
  const rows = items.map((item) => {
    const id = idOf(item)
    return [
      String(item.reason),
      id,
      String(item.project),
      print.age(item.since),
      whatOf(item),
      safe(adviceFor(item, id)),
    ]
  })
  print.tableInFull(['WHY', 'ID', 'PROJECT', 'FOR', 'WHAT', 'WHAT TO DO'], rows, 'Nothing needs you.')
  print.rest(items.length, more)
}

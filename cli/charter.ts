/** `intendant project charter`: what a project is for, in its owner's words. */
import type { Command } from 'commander'
import { ORIGIN } from './arguments.ts'
import { safe } from './print.ts'
import type { Act, Cli } from './world.ts'

const FIELDS = [
  ['mission', 'What the project is for.'],
  ['target-audience', 'Whom it serves.'],
  ['problem-space', 'The problem it works on.'],
  ['differentiators', 'What sets it apart.'],
  ['out-of-scope', 'What it deliberately leaves to others.'],
] as const

const NAMES = FIELDS.map(([name]) => name.replaceAll('-', '_'))

export function addCharter(project: Command, act: Act): void {
  const charter = project
    .command('charter')
    .description("Show a project's charter, or write the fields that are named. An empty text clears one.")
    .argument('<project>', 'Key or id.')
  for (const [name, help] of FIELDS) charter.option(`--${name} <text>`, help)
  charter.option(...ORIGIN).action(act(showOrWrite))
}

async function showOrWrite({ client, json, print }: Cli, [project]: readonly any[], options: any): Promise<void> {
  const path = `/api/projects/${encodeURIComponent(project)}/charter`
  const { targetAudience: target_audience, problemSpace: problem_space, outOfScope: out_of_scope } = options
  const { mission, differentiators } = options
  const said = { mission, target_audience, problem_space, differentiators, out_of_scope }
  const named = Object.entries(said).filter(([, text]) => text !== undefined)
  let { body } = await client.request('GET', path)
  if (named.length > 0) {
    // The service takes the charter as a whole.
    const whole = { ...body, ...Object.fromEntries(named) }
    body = (await client.request('PUT', path, { body: whole })).body
  }
  if (json) return print.json(body)
  const written = NAMES.filter((name) => body[name] !== undefined)
  if (written.length === 0)
    print.line(`No charter yet. Write one with: intendant project charter ${project} --mission TEXT`)
  else print.fields(written.map((name) => [name.replaceAll('_', ' '), safe(body[name])]))
}

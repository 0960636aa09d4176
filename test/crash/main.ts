/**
 * `npm run crash -- --kills 500 --seed 1`, `npm run crash -- --power-cuts 500 --seed 1`: long runs of what the tests do
 * a little of. Exit code 1 when a fault was found; the same seed makes the same choices again.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandLine, whole } from '../command-line.ts'
import { hurtAgainAndAgain } from './damages.ts'
import { killAgainAndAgain } from './kills.ts'
import { landAgainAndAgain } from './landings.ts'
import { cutAgainAndAgain } from './power-cuts.ts'

const USAGE = `npm run crash -- [--kills N] [--power-cuts N] [--damages N] [--landings N] [--seed N] [--keep]

  --kills N       end the real service N times with SIGKILL, under load
  --power-cuts N  start the service N times on what a power cut would have left of its files (needs cc)
  --damages N     start the service N times on files with one bit flipped
  --landings N    kill runners, their commands and the service N times while agents land work (Linux)
  --seed N        the first of the seeds; default: one from the clock, which is printed
  --keep          leave the folder with the files where it is; it is left anyway when a fault was found`

const values = commandLine(USAGE, {
  kills: { type: 'string', default: '0' },
  'power-cuts': { type: 'string', default: '0' },
  damages: { type: 'string', default: '0' },
  landings: { type: 'string', default: '0' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  keep: { type: 'boolean', default: false },
})

const CUTS_PER_RUN = 20

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

async function run(): Promise<number> {
  const kills = whole(USAGE, '--kills', values.kills)
  const powerCuts = whole(USAGE, '--power-cuts', values['power-cuts'])
  const damages = whole(USAGE, '--damages', values.damages)
  const landings = whole(USAGE, '--landings', values.landings)
  const seed = whole(USAGE, '--seed', values.seed)
  if (kills + powerCuts + damages + landings === 0) {
    say(USAGE)
    return 2
  }
  const folder = mkdtempSync(join(tmpdir(), 'intendant-crash-'))
  const faults: string[] = []
  const told = (what: string, report: { readonly faults: readonly string[] }, startedMs: number): void => {
    faults.push(...report.faults)
    const seconds = Math.round((performance.now() - startedMs) / 1_000)
    say(
      `${what}, seed ${seed}: ${report.faults.length} faults in ${seconds} s. ${JSON.stringify({ ...report, faults: undefined })}`,
    )
    for (const fault of report.faults) say(`  ${fault}`)
  }
  if (kills > 0) {
    const startedMs = performance.now()
    mkdirSync(join(folder, 'home'))
    told(`${kills} kills`, await killAgainAndAgain({ kills, seed, home: join(folder, 'home'), say }), startedMs)
  }
  if (powerCuts > 0) {
    const startedMs = performance.now()
    mkdirSync(join(folder, 'cuts'))
    const options = { cuts: powerCuts, seed, folder: join(folder, 'cuts'), cutsPerRun: CUTS_PER_RUN, say }
    told(`${powerCuts} power cuts`, await cutAgainAndAgain(options), startedMs)
  }
  if (damages > 0) {
    const startedMs = performance.now()
    mkdirSync(join(folder, 'damages'))
    const options = { damages, seed, folder: join(folder, 'damages'), say }
    told(`${damages} damages`, await hurtAgainAndAgain(options), startedMs)
  }
  if (landings > 0) {
    const startedMs = performance.now()
    mkdirSync(join(folder, 'landings'))
    const options = { kills: landings, seed, folder: join(folder, 'landings'), say }
    told(`${landings} kills during landings`, await landAgainAndAgain(options), startedMs)
  }
  if (faults.length > 0 || values.keep) say(`The files are in ${folder}.`)
  else rmSync(folder, { recursive: true, force: true })
  return faults.length > 0 ? 1 : 0
}

process.exitCode = await run()

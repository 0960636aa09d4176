/** `intendant verify`, `export`, `import`: check, export and import the log without the service. */
import { join, resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { decodeCursor, encodeCursor } from '../runtime/stream/cursor.ts'
import type { ExportPlace, ExportReport, Gap } from '../storage/copies/export.ts'
import { isThere } from '../storage/home/home-paths.ts'
import type { VerifyReport } from '../storage/verify/findings.ts'
import { ORIGIN } from './arguments.ts'
import { CliFailure, EXIT, sentenceOf } from './exit.ts'
import { safe } from './print.ts'
import { loadSettings } from './settings.ts'
import { readInteger } from './units.ts'
import { printVerified } from './verified.ts'
import { type Act, type Cli, originOf } from './world.ts'

const FINDINGS_SHOWN = 50
/** What a home or a backup contains: a folder with any of these was one, and may be damaged. */
const PARTS = ['log', 'view', 'backup.json']

export function addArchive(program: Command, act: Act): void {
  program
    .command('verify')
    .description('Check a home or a backup: the log, its indexes, and every record. Changes nothing.')
    .argument('[home]', 'The folder. Default: the home folder.')
    .addHelpText(
      'after',
      '\nEvery row of the log is read and compared with the indexes in both directions, and the record of\neach entity with its events. Exit code 1: something is wrong. 2: neither a home nor a backup, or no\ntemporary folder. 7: not examined, and may be intact: a service is running on it (verify a backup\ninstead), a newer version has written it, or this machine does not allow it to be read.\n\nExample:\n  intendant backup --name today && intendant verify ~/.engine/backups/today',
    )
    .action(act(verify))
  program
    .command('export')
    .description('Write the events as JSON lines, one file a month. Changes nothing; --home may name a backup.')
    .argument('<dir>', 'The folder for the files; later exports append to them.')
    .option('--after <cursor>', 'Only events after this cursor, which an earlier export printed.', place)
    .addHelpText(
      'after',
      '\nOnly the log is read: a service may be running on the home, or may refuse to start on it. Exit code\n1: some events or log files could not be read, or --retention has removed events since the export\nthat printed the cursor; this is reported, and all other events are written. An export that fails (a\nfull disk) leaves the files as they were. After one that was killed, remove the folder, or the lines\nthat it added, before you repeat it: events exported twice are in the files twice. import counts the\nsecond copies and ignores them.\n\nExample:\n  intendant backup --name today && intendant export ./events --home ~/.engine/backups/today',
    )
    .action(act(exportAll))
  program
    .command('import')
    .description('Record events from files of JSON lines. Offline. They become history and trigger nothing.')
    .argument('<files...>', 'The files. The projects of their events must exist.')
    .option(...ORIGIN)
    .addHelpText(
      'after',
      '\nRepeating it is harmless: an event that is already recorded is counted, not recorded again. Lines\nthat cannot be imported are listed. Events of the service itself (project system: its tokens, lanes,\ninitiatives) are left out and counted: they belong to the home in which they occurred.',
    )
    .action(act(importAll))
}

async function verify({ home, json, print }: Cli, [folder]: readonly any[]): Promise<number> {
  const [{ verifyHome }, { verifyHooks }] = await Promise.all([
    import('../storage/verify/verify.ts'),
    import('../runtime/offline/verify-hooks.ts'),
  ])
  const checked = folder === undefined ? home : resolve(folder)
  const look = async (): Promise<VerifyReport> => {
    if (PARTS.some((part) => isThere(join(checked, part)))) return await verifyHome(checked, verifyHooks())
    throw new CliFailure(`${checked} is neither a home nor a backup: it contains no part of one.`)
  }
  const report = await look().catch(notLookedAt)
  printVerified({ json, print }, checked, report)
  return report.findingsCount === 0 ? EXIT.ok : EXIT.failed
}

/** A temporary folder that cannot be created is a wrong setting, reported as by any command. */
function notLookedAt(error: Error): never {
  if (error.name === 'TemporaryFolderFailed' || !('code' in error)) throw error
  throw new CliFailure(sentenceOf(error), EXIT.notLookedAt, error)
}

/** A cursor, or just its sequence number. */
function place(text: string): ExportPlace {
  const sequence = readInteger(text, 0, 1e15)
  const read = sequence === undefined ? decodeCursor(text) : { sequence }
  if (read === undefined) throw new InvalidArgumentError('A cursor printed by an earlier export is expected.')
  return read
}

/** The report with member names as in all JSON output. */
function exportShown({ log, firstSequence, lastSequence, gaps, unread, ...rest }: ExportReport): object {
  const cursor = encodeCursor(log, lastSequence)
  return {
    epoch: log.epoch,
    ...rest,
    ...bounds({ firstSequence, lastSequence }),
    cursor,
    gaps: gaps.map(bounds),
    unread_files: unread,
  }
}

function bounds({ firstSequence, lastSequence }: Gap): object {
  return { first_sequence: firstSequence, last_sequence: lastSequence }
}

/** A missing home is not created: a mistyped folder would be an empty home. */
function present(home: string): string {
  if (isThere(join(home, 'log'))) return home
  throw new CliFailure(`${home} is not a home: it contains no log. Name one with --home.`)
}

async function exportAll({ home, json, print }: Cli, [dir]: readonly any[], { after }: any): Promise<number> {
  const { exportEvents } = await import('../storage/copies/export.ts')
  const report = await exportEvents(present(home), resolve(dir), after)
  const { log, events, files, firstSequence, lastSequence, forgotten, unreadable, gaps, unread } = report
  if (json) print.json(exportShown(report))
  else {
    const rows = Object.entries(files).map(([file, count]) => [file, String(count)])
    print.table(['FILE', 'EVENTS'], rows, 'No events to export.')
    if (events > 0)
      print.line(`Events ${firstSequence} to ${lastSequence}; continue with --after ${encodeCursor(log, lastSequence)}`)
    if (forgotten > 0) print.line(`${forgotten} event(s) before them had already been removed by --retention.`)
    if (unreadable > 0) {
      const shown = gaps.slice(0, FINDINGS_SHOWN).map((gap) => [String(gap.firstSequence), String(gap.lastSequence)])
      print.line(`${unreadable} event(s) could not be read:`)
      print.tableInFull(['FROM', 'TO'], shown, '')
    }
    if (unread.length > 0) {
      print.line('These files of the log could not be read completely; the newest may have had more at its end:')
      print.tableInFull(
        ['FILE', 'WHY'],
        unread.slice(0, FINDINGS_SHOWN).map(({ path, detail }) => [safe(path), safe(detail)]),
        '',
      )
    }
  }
  return unreadable === 0 && forgotten === 0 && unread.length === 0 ? EXIT.ok : EXIT.failed
}

async function importAll(cli: Cli, [files]: readonly any[], { origin }: any): Promise<number> {
  const { world, home, json, print } = cli
  const [{ withRuntime }, { importEvents }] = await Promise.all([
    import('../runtime/offline/offline.ts'),
    import('../runtime/offline/import.ts'),
  ])
  const settings = loadSettings({ flags: { home: present(home) }, env: world.env })
  const report = await withRuntime(settings, (runtime) =>
    importEvents(
      runtime,
      files.map((file: string) => resolve(file)),
      originOf(origin),
    ),
  )
  if (json) print.json(report)
  else {
    print.line(
      `${report.accepted} event(s) recorded, ${report.duplicates} already present, ${report.refused_count} refused.`,
    )
    if (report.left_out > 0) {
      print.line(
        `${report.left_out} of the service itself (project system) were left out: they belong to their own home.`,
      )
    }
    const rows = report.refused
      .slice(0, FINDINGS_SHOWN)
      .map(({ file, line, offset, reason }) => [`${file}:${line}`, String(offset), safe(reason)])
    if (rows.length > 0) print.tableInFull(['LINE', 'OFFSET', 'WHY'], rows, '')
  }
  return report.refused_count === 0 ? EXIT.ok : EXIT.failed
}

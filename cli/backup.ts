/** `intendant backup`, taken from the running service, and `intendant restore`, done while there is none. */
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Answer, Client } from '../engine/client.ts'
import { describeRetry, ServiceRefused } from '../engine/errors.ts'
import { mayHelpInTime, pause, retrying } from '../engine/retry.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'
import type { VerifyReport } from '../storage/verify/findings.ts'
import { ORIGIN } from './arguments.ts'
import { CliFailure, EXIT } from './exit.ts'
import { loadSettings } from './settings.ts'
import { printVerified } from './verified.ts'
import { type Act, type Cli, originOf } from './world.ts'

/** Interval between two looks at a slow backup, in milliseconds. */
const LOOK_MS = 2_000
/**
 * A command repeated after an interruption comes sooner than this; scheduled backups under one name come later.
 * Milliseconds.
 */
const REPEATED_WITHIN_MS = 3_600_000

const BACKUP_HELP = `
A slow backup continues after this command has ended: the same command with the same --name follows
it again or, within an hour of its end, reports its outcome. After that hour the name is refused as
taken (exit code 3): leave --name out of scheduled backups. Only one backup runs at a
time: while another is under way, it is refused (exit code 4).

The copied log is checked. If it is damaged, the backup is kept and reported with exit code 1, and
can be restored only with --no-verify: keep earlier backups. If no service could start on the log
any more, no backup is made (exit code 3).`

const RESTORE_HELP = `
The home must be empty or absent, and stays as it was if anything fails; after a restore that was
killed, the same command replaces what is left of it. The copy is verified first, as by intendant
verify: anything wrong is reported, and nothing is restored (exit code 1). Cursors of the old log
are refused from now on (410 cursor_of_another_log). Every unsettled run request gets a higher
attempt, so reports from its old runner are refused; one that had been accepted or started becomes
lost and needs a person.

Example:
  intendant restore /var/lib/intendant/backups/2030-01-31 --home /var/lib/intendant-new`

export function addBackup(program: Command, act: Act): void {
  program
    .command('backup')
    .description('Copy everything that the service stores to a new folder while it runs.')
    .option('--name <name>', 'Name of the folder under backups in the home of the service. Default: the current time.')
    .option(...ORIGIN)
    .addHelpText('after', BACKUP_HELP)
    .action(act(backup))
  program
    .command('restore')
    .description('Create a home from a backup. Offline: no service may run on that home.')
    .argument('<backup>', 'The folder of the backup.')
    .option(
      '--no-verify',
      'Restore even if verification fails. Files on which no service could start are still refused.',
    )
    .option(...ORIGIN)
    .addHelpText('after', RESTORE_HELP)
    .action(act(restore))
}

async function backup({ client, json, print, note }: Cli, _: readonly any[], { name }: any): Promise<void> {
  const begun = await beginBackup(client, name)
  let { body } = begun
  if (body.state === 'running') note(`Backup ${body.name} is still running; waiting for it to end.`)
  const path = `/api/backups/${body.name}`
  const onRetry = (error: Error): void => note(describeRetry(error))
  while (body.state === 'running') {
    await pause(LOOK_MS)
    ;({ body } = await retrying(() => client.request('GET', path), { mayHelp: mayHelpInTime, onRetry }))
  }
  if (body.state === 'failed') {
    const { code, message: detail } = body.failure
    throw new ServiceRefused('POST', '/api/backups', { status: 500, code, detail })
  }
  if (begun.isOfBefore)
    note(`This backup was made at ${body.ended_at}; no new one was made. For a new one, give another --name or none.`)
  if (json) print.json(body)
  else print.line(`The backup is in ${body.path} on the machine of the service.`)
  if (body.state === 'damaged') throw new CliFailure(body.failure.message, EXIT.failed)
}

/** The state of the backup: begun now, or by an earlier command with the same name. */
async function beginBackup(
  client: Client,
  name: string | undefined,
): Promise<{ readonly body: any /** It had ended before it was asked for. */; readonly isOfBefore?: true }> {
  try {
    return await client.request('POST', '/api/backups', { body: { name } })
  } catch (error) {
    const problem = error instanceof ServiceRefused ? (error.problem as { code: string; backup?: string }) : undefined
    const look = (): Promise<Answer> => client.request('GET', `/api/backups/${name}`)
    if (problem?.code === 'backup_running' && problem.backup === name) return await look()
    if (problem?.code === 'backup_damaged') {
      const made = client.request('GET', `/api/backups/${problem.backup}`)
      return await made.catch(() => Promise.reject(error))
    }
    const seen =
      problem?.code === 'already_exists' && name !== undefined ? await look().catch(() => undefined) : undefined
    const known = seen?.body
    if (known?.state !== 'completed' && known?.state !== 'damaged') throw error
    // Both times are by the service's clock, if it sends its own.
    const nowMs = Date.parse(seen!.headers.get('date') ?? '') || Date.now()
    if (nowMs - Date.parse(known.ended_at) < REPEATED_WITHIN_MS) return { body: known, isOfBefore: true }
    const detail = `A backup of that name was made at ${known.ended_at}; no new one was made. Give another --name or none.`
    throw new ServiceRefused('POST', '/api/backups', { status: 409, code: 'already_exists', detail })
  }
}

async function restore(cli: Cli, [from]: readonly any[], { origin, verify }: any): Promise<number> {
  const { world, home, json, print } = cli
  const settings = loadSettings({ flags: { home }, env: world.env })
  const [{ restoreFiles }, { withRuntime }, { fenceRestored, makeAdminToken, restorer }, { writeOwnerOnly }] =
    await Promise.all([
      import('../storage/copies/backup.ts'),
      import('../runtime/offline/offline.ts'),
      import('../runtime/offline/restore.ts'),
      import('../storage/files/flush.ts'),
    ])
  const by = restorer(originOf(origin))
  let outcome: { restored: any; token: string } | undefined
  // Fenced before it takes its place: after a kill half-way there is nothing that could be served.
  const settle = async (draft: string): Promise<void> => {
    outcome = await withRuntime({ ...settings, home: draft }, async (runtime) => {
      const restored = await fenceRestored(runtime, by)
      const [first] = restored.unfenced
      if (first !== undefined) {
        const count = restored.unfenced.length
        throw new CliFailure(
          `${count} run request(s) could not be fenced, first ${first.id}: ${first.reason}`,
          EXIT.failed,
        )
      }
      return { restored, token: await makeAdminToken(runtime, by) }
    })
    writeOwnerOnly(adminTokenPath(draft), `${outcome.token}\n`)
  }
  const source = resolve(from)
  const check = (draft: string): Promise<void> => assertSound(cli, source, draft, settle)
  const { epoch, previousEpoch } = await restoreFiles(source, home, verify ? { check, settle } : { settle })
  const { restored } = outcome!
  const tokenFile = adminTokenPath(home)
  if (json) print.json({ home, epoch, previous_epoch: previousEpoch, admin_token_file: tokenFile, ...restored })
  else tell(print, home, tokenFile, restored)
  return EXIT.ok
}

/**
 * Verifies the copy, since that is what will be served, and the original may be on a read-only disk. If it is damaged,
 * the copy may be spoiled: `settle` is tried on it to find out whether a restore without verification would succeed.
 */
async function assertSound(
  cli: Cli,
  source: string,
  draft: string,
  settle: (draft: string) => Promise<void>,
): Promise<void> {
  const report = await reportOn(draft)
  if (report.findingsCount === 0) return
  const ofSource = (text: string): string => text.replaceAll(draft, source)
  const findings = report.findings.map(({ code, where, detail }) => ({
    code,
    where: ofSource(where),
    detail: ofSource(detail),
  }))
  printVerified(cli, source, { ...report, findings })
  const advice = await settle(draft).then(
    () => 'use another backup or, if there is none, restore this one as it is with --no-verify',
    (error: Error) => `use another backup; this one cannot be restored unverified either: ${ofSource(error.message)}`,
  )
  throw new CliFailure(`${source} is damaged, and nothing was restored: ${advice}`, EXIT.failed)
}

/** For a draft whose view was checked already; its log is checked here. */
async function reportOn(draft: string): Promise<VerifyReport> {
  const [{ verifyWhole }, { reportOf }, { assertLogWhole }, { verifyHooks }, { HomeRefused }] = await Promise.all([
    import('../storage/verify/verify.ts'),
    import('../storage/verify/findings.ts'),
    import('../storage/home/home-checks.ts'),
    import('../runtime/offline/verify-hooks.ts'),
    import('../storage/home/home-refused.ts'),
  ])
  try {
    await assertLogWhole(draft, 'every')
  } catch (error) {
    if (!(error instanceof HomeRefused) || error.code !== 'corrupt') throw error
    return reportOf({ code: 'unreadable', where: draft, detail: error.message })
  }
  return verifyWhole(draft, verifyHooks())
}

function tell(print: Cli['print'], home: string, tokenFile: string, restored: any): void {
  const { fenced, lost, credentials } = restored
  print.line(`Restored into ${home}. A new admin token is in ${tokenFile}.`)
  print.line(
    `${fenced} unsettled run request(s) got a higher attempt; ${lost.length} of them are lost and need a person.`,
  )
  for (const id of lost) print.line(`  ${id}`)
  print.line(
    '\nThese credentials are valid again, including those revoked after the backup. Revoke any that should not be:',
  )
  const rows = credentials.map(({ kind, id, name }: any) => [kind, id, name])
  print.table(['KIND', 'ID', 'NAME'], rows, '(none)')
}

/** Backups of the whole service: started, and followed to their end. */
import { digestOf } from '../../machines/digest.ts'
import { closedObject, stringEnum, Type } from '../../machines/schema.ts'
import { utcNow } from '../clock.ts'
import { askerOf, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency.ts'
import { located, notFound } from '../replies.ts'
import { BACKUP_NAME, type Backup, type BackupDocument, type Backups } from '../resources/backups.ts'
import type { Route, ServiceContext } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

const AREA = 'service'
/** How long an answer waits for the end of a backup, in seconds: less than proxies and clients wait. */
const WAIT_DEFAULT = 20
const WAIT_MAX = 60

const backupBody = closedObject(
  {
    name: Type.Optional(
      Type.String({
        pattern: BACKUP_NAME,
        description: 'Folder under `backups` in the home folder; must not exist. Default: the current time.',
      }),
    ),
  },
  { title: 'BackupCreate' },
)

const waitQuery = closedObject({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: WAIT_MAX,
      description: `Seconds to wait for the backup to end before answering; default ${WAIT_DEFAULT}.`,
    }),
  ),
})

const backupDocument = Type.Object(
  {
    name: Type.String({ description: 'The backup’s folder under `backups` in the home folder.' }),
    state: stringEnum(['running', 'completed', 'damaged', 'failed'], {
      description: '`damaged`: the backup exists, but the log it copies is damaged; `failed`: there is no backup.',
    }),
    path: Type.String({ description: 'Path of the backup on the machine of the service.' }),
    begun_at: Type.String({ format: 'date-time' }),
    ended_at: Type.Optional(Type.String({ format: 'date-time' })),
    bytes: Type.Optional(Type.Integer({ description: 'Its size, once it exists.' })),
    sequence: Type.Optional(Type.Integer({ description: 'Last event that it is certain to hold, once it exists.' })),
    failure: Type.Optional(
      Type.Object(
        { code: Type.String({ description: 'A problem code.' }), message: Type.String() },
        { description: 'Why it failed, or what is damaged.' },
      ),
    ),
  },
  { title: 'Backup' },
)

export function backupRoutes(service: ServiceContext): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/backups',
      operation: 'createBackup',
      area: AREA,
      summary: 'Copy all data of the service into a new folder while it runs.',
      description:
        'One at a time. A copy that takes longer than the wait continues, even if its client has gone: ' +
        'follow it at `Location`. The copy is verified: if the log is damaged, the backup exists when ' +
        '`backup_damaged` is answered, and `backup` gives its name.',
      access: { right: 'token.manage' },
      query: waitQuery,
      body: { schema: backupBody, optional: true },
      headers: [IDEMPOTENCY_HEADER],
      answers: {
        200: located({
          description:
            'The backup made earlier with this key, complete. A key is kept for 24 h after its backup ended, also across restarts.',
          schema: backupDocument,
          headers: { 'Idempotent-Replay': '`true`' },
        }),
        201: located({ description: 'The completed backup.', schema: backupDocument }),
        202: located({
          description: 'The backup is still running.',
          schema: backupDocument,
          example: {
            name: 'before-upgrade',
            state: 'running',
            path: '/home/ada/.engine/backups/before-upgrade',
            begun_at: '2026-01-31T12:00:00.000000Z',
          },
          optionalHeaders: { 'Idempotent-Replay': '`true` if an earlier request with this key started it.' },
        }),
      },
      problems: [
        'forbidden',
        'already_exists',
        'idempotency_key_reused',
        'backup_running',
        'backup_failed',
        'backup_damaged',
        'stopping',
      ],
      handle: (exchange) => begin(service, exchange),
    },
    {
      method: 'GET',
      path: '/api/backups/:name',
      operation: 'readBackup',
      area: AREA,
      summary:
        'Read the status of a backup: the last hundred are kept; of those made before a restart, the ones still in `backups`.',
      access: { right: 'token.manage' },
      answers: { 200: { description: 'The backup.', schema: backupDocument } },
      problems: ['forbidden', 'not_found'],
      handle: (exchange) => show(service, exchange),
    },
  ]
}

function begin(service: ServiceContext, exchange: Exchange): void {
  const backups = backupsFor(service, exchange)
  const read = readIdempotencyKey(exchange)
  if (backups === undefined || !read.ok) return
  const key = read.key === undefined ? undefined : digestOf([askerOf(exchange.principal), read.key])
  const fingerprint = digestOf(exchange.body)
  const { wait = WAIT_DEFAULT } = exchange.query
  const before = key === undefined ? undefined : backups.findByKey(key)
  if (before !== undefined) {
    if (before.asked?.fingerprint !== fingerprint) {
      const { name } = before.document
      exchange.problem(
        'idempotency_key_reused',
        `This idempotency key was used for the backup ${name} with another body.`,
      )
      return
    }
    exchange.await(endOr(before, wait * 1000, service), () => {
      if (before.document.failure === undefined) exchange.setHeader('Idempotent-Replay', 'true')
      answer(exchange, before.document, 200)
    })
    return
  }
  const { running } = backups
  if (running !== undefined) {
    const detail = `The backup ${running.name} has been running since ${running.begun_at}.`
    exchange.problem('backup_running', detail, { members: { backup: running.name } })
    return
  }
  const name: string = exchange.body.name ?? utcNow(service).replaceAll(/[:.]/g, '-')
  const backup = backups.begin(name, key === undefined ? undefined : { key, fingerprint })
  exchange.await(endOr(backup, wait * 1000, service), () => answer(exchange, backup.document))
}

/** Resolves when the backup has ended, or after `ms` milliseconds. */
async function endOr({ ended }: Backup, ms: number, { runtime: { platform } }: ServiceContext): Promise<void> {
  let timer: unknown
  const isOver = new Promise<void>((resolve) => {
    timer = platform.setTimer(resolve, ms)
  })
  await Promise.race([ended, isOver])
  platform.clearTimer(timer)
}

/** `whole` is the status of a completed backup. */
function answer(exchange: Exchange, backup: BackupDocument, whole: 200 | 201 = 201): void {
  const { state, name, failure } = backup
  if (failure !== undefined)
    exchange.problem(failure.code, failure.message, state === 'damaged' ? { members: { backup: name } } : {})
  else exchange.setHeader('Location', `/api/backups/${name}`).answer(state === 'running' ? 202 : whole, backup)
}

function show(service: ServiceContext, exchange: Exchange): void {
  const backups = backupsFor(service, exchange)
  if (backups === undefined) return
  const [name = ''] = exchange.params
  const backup = backups.find(name)
  if (backup === undefined) notFound(exchange, 'backup among the last hundred, named', name)
  else exchange.answer(200, backup)
}

/** Returns undefined if a problem was answered. */
function backupsFor({ backups }: ServiceContext, exchange: Exchange): Backups | undefined {
  if (exchange.principal.projects !== '*') {
    exchange.problem('forbidden', 'A backup contains every project: the token must not be confined to projects.')
    return undefined
  }
  if (backups === undefined) exchange.problem('backup_failed', 'This storage cannot be copied while the service runs.')
  return backups
}

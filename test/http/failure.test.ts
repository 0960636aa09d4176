/** Failures of the ground below the service: its log, its view, the native library, TLS files. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import t from 'tap'
import { startService } from '../../http/service.ts'
import { createServer, notLoaded } from '../../http/wire/uws.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { type Journal, JournalFailure, ViewBehind } from '../../storage/journal.ts'
import { type Platform, systemPlatform } from '../../storage/platform.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { startTestService } from './service-harness.ts'

/** No timer of the service itself has this length. */
const MARKED_MS = 123_457

/** A journal whose next commit fails on request as LMDB's does: its owner is told first, then the batch. */
function failing(onFailure: (failure: Error) => void): { journal: Journal; fail: () => void; viewFails: () => void } {
  const inner = new MemoryJournal()
  const failure = new JournalFailure('the log could not be written: ENOSPC')
  let fails = false
  const append: Journal['append'] = (steps, done) => {
    if (!fails) return inner.append(steps, done)
    onFailure(failure)
    done(failure, null)
  }
  const journal = new Proxy<Journal>(inner, {
    get(target, name) {
      if (name === 'append') return append
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    journal,
    fail: () => {
      fails = true
    },
    viewFails: () => onFailure(failure),
  }
}

t.test('a failed commit is answered 503 and reported as fatal once', async (t) => {
  let made: ReturnType<typeof failing> | undefined
  const fatal: string[] = []
  const s = await startTestService(
    t,
    {},
    {
      openJournal: async (onFailure) => {
        made = failing(onFailure)
        return made.journal
      },
      onFatal: ({ message }) => fatal.push(message),
    },
  )
  made!.fail()
  const refused = await s.expect(503, 'POST', '/api/projects', { name: 'P' })
  t.equal(refused.body.code, 'storage_failed')
  t.same(fatal, ['the log could not be written: ENOSPC'])
  await new Promise(setImmediate)
  t.equal(fatal.length, 1, 'journal and actors report the same failure')
})

t.test('a service starts even if its view lags behind the log', async (t) => {
  const journal = new MemoryJournal()
  const list = journal.list.bind(journal)
  let isStarting = true
  let lists = 0
  journal.list = async (query) => {
    lists += 1
    if (isStarting && query.waits !== true) throw new ViewBehind('the view is at batch 1, not yet at 2')
    return list(query)
  }
  const s = await startTestService(t, {}, { openJournal: async () => journal })
  t.ok(lists > 0)
  isStarting = false
  await s.expect(201, 'POST', '/api/projects', { name: 'P' })
})

t.test('a failing view is reported as fatal even if no commit is waiting', async (t) => {
  let made: ReturnType<typeof failing> | undefined
  const fatal: string[] = []
  await startTestService(
    t,
    {},
    {
      openJournal: async (onFailure) => {
        made = failing(onFailure)
        return made.journal
      },
      onFatal: ({ message }) => fatal.push(message),
    },
  )
  made!.viewFails()
  await new Promise(setImmediate)
  t.equal(fatal.length, 1)
})

t.test('a commit that took a second or more is logged, once a minute and with how many there were', async (t) => {
  const observers: ((ms: number) => void)[] = []
  const journal = Object.assign(new MemoryJournal(), {
    onFlush: (observe: (ms: number) => void) => void observers.push(observe),
  })
  let aheadMs = 0
  const monotonicMs = () => systemPlatform.monotonicMs() + aheadMs
  const lines: string[] = []
  const log = pino({ level: 'warn', base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  const platform = { ...systemPlatform, monotonicMs }
  const s = await startTestService(t, {}, { openJournal: async () => journal, platform, log })
  const took = (ms: number): void => {
    for (const observe of observers) observe(ms)
  }
  took(999)
  t.same(lines, [])
  took(1_000)
  took(5_000)
  aheadMs = 59_000
  took(5_000)
  aheadMs = 60_000
  took(999)
  took(40_000.4)
  const msg = 'a commit took long to reach the disk, and nobody was answered meanwhile'
  t.same(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 40, took_ms: 1_000, slow_commits: 1, msg },
      { level: 40, took_ms: 40_000, slow_commits: 3, msg },
    ],
  )
  t.match((await s.call('GET', '/metrics')).body, /^intendant_fsync_seconds_count 6$/m, 'and each is measured')
})

t.test(
  'a timer that hits the failed journal does not end the process; one that throws any other error does',
  async (t) => {
    const due: (() => void)[] = []
    const setTimer: Platform['setTimer'] = (callback, ms) =>
      ms === MARKED_MS ? due.push(callback) : systemPlatform.setTimer(callback, ms)
    const { service } = await startTestService(t, {}, { platform: { ...systemPlatform, setTimer } })
    const { platform } = service.runtime
    for (const error of [new JournalFailure('it cannot be read'), new Error('a mistake')]) {
      platform.setTimer(() => {
        throw error
      }, MARKED_MS)
    }
    t.equal(due.length, 2)
    t.doesNotThrow(due[0]!)
    t.throws(due[1]!, { message: 'a mistake' })
  },
)

t.test('a native library that cannot be loaded is reported with its cause and a remedy', (t) => {
  const loader = (reason: string) => new Error(`This version supports Node.js 16 and so on.\n\nError: ${reason}`)
  const old = loader("/lib/libc.so.6: version `GLIBC_2.38' not found (required by uws_linux_x64_137.node)")
  t.match(notLoaded(old), {
    name: 'ServerFailure',
    message: /version `GLIBC_2\.38' not found.*use one with glibc 2\.38 or newer/,
    cause: old,
  })
  const none = notLoaded(loader("Cannot find module './uws_sunos_x64_115.node'")).message
  t.match(none, /Cannot find module.*binaries for Node\.js 20, 22 and 24/)
  t.notMatch(none, 'Node.js 16', 'what the loader says about other platforms is left out')
  t.match(notLoaded(new Error("Cannot find module 'uWebSockets.js'")).message, /Cannot find module 'uWebSockets.js'/)
  t.end()
})

t.test('unusable TLS files are reported with their setting and the cause', (t) => {
  const dir = t.testdir({ 'no.pem': 'nothing of a certificate' })
  const file = `${dir}/no.pem`
  const made = (certFile: string, keyFile: string) => () =>
    createServer({ headerBytesMax: 16_384, tls: { certFile, keyFile } })
  const name = 'ServerFailure'
  t.throws(made(`${dir}/none.pem`, file), { name, message: /^tls_cert cannot be read: ENOENT.*none\.pem/ })
  t.throws(made(file, `${dir}/none.pem`), { name, message: /^tls_key cannot be read: ENOENT.*none\.pem/ })
  t.throws(made(file, file), { name, message: /^tls_cert \(.*no\.pem\) and tls_key .* cannot be used: / })
  t.end()
})

t.test('a start that cannot listen fails before it creates a home', async (t) => {
  const { service } = await startTestService(t)
  const home = join(t.testdir(), 'new')
  const settings = { ...defaultSettings, diskReserveBytes: 0, home, port: service.port }
  const options = { version: '0.0.0-test', log: pino({ level: 'silent' }) }
  await t.rejects(startService(settings, options), { name: 'ServerFailure', message: /^Cannot listen on/ })
  t.notOk(existsSync(home), 'no home is created')
  const other = await startService({ ...settings, port: 0 }, options)
  t.ok(existsSync(home))
  await other.close()
})

t.test('after a failed start nothing keeps the process alive', async (t) => {
  const child = fileURLToPath(new URL('./failed-start-child.js', import.meta.url))
  for (const [how, why] of [
    ['token', /cannot be kept/],
    ['tls', /^tls_cert .* cannot be used/],
    ['address', /^Cannot listen on 203\.0\.113\.1/],
  ] as const) {
    const started = spawn(process.execPath, [child, join(t.testdir(), how), how], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const late = setTimeout(() => started.kill('SIGKILL'), 20_000)
    let told = ''
    started.stdout.on('data', (chunk) => {
      told += chunk
    })
    const [code, signal] = await once(started, 'close')
    clearTimeout(late)
    t.match(told, why)
    t.same([code, signal], [0, null], how)
  }
})

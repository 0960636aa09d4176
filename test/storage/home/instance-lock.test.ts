import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as untilMs } from 'node:timers/promises'
import t from 'tap'
import { guardForReading, lockInstance } from '../../../storage/home/instance-lock.ts'
import { onPlatform } from '../open.ts'

t.test('the lock is given to one holder, and again after its release', async (t) => {
  const home = join(t.testdir(), 'home')
  const lock = await lockInstance(home)
  await t.rejects(lockInstance(home), { code: 'locked', message: /is in use by process \d+/ })
  await lock.release()
  await (await lockInstance(home)).release()
})

t.test(
  'a client that stays connected to the lock does not keep the holder from releasing it',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const home = t.testdir()
    const lock = await lockInstance(home)
    const { dev, ino } = statSync(home)
    const asker = connect({ path: `\0intendant-${dev}-${ino}`.padEnd(108, '\0'), allowHalfOpen: true })
    t.teardown(() => asker.destroy())
    const [words] = await once(asker, 'data')
    t.equal(String(words), `process ${process.pid}`)
    const released = lock.release().then(() => 'released')
    t.equal(await Promise.race([released, untilMs(5_000, 'held up', { ref: false })]), 'released')
  },
)

/**
 * Holds the lock's address, padded as every version of Node.js pads it, like a process that was killed and is not yet
 * gone: it answers nobody. Perl is part of every Debian.
 */
const DEAF = `socket(my $s, PF_UNIX, SOCK_STREAM, 0);
bind($s, pack("Sa108", AF_UNIX, "\\0$ARGV[0]")) or die $!;
$| = 1; print 1; sleep`

t.test(
  'a holder that does not answer because it is dying is waited for',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const home = t.testdir()
    const { dev, ino } = statSync(home)
    const holder = spawn('perl', ['-MSocket', '-e', DEAF, `intendant-${dev}-${ino}`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => holder.kill('SIGKILL'))
    await once(holder.stdout, 'data')
    const lock = lockInstance(home).then(({ release }) => release().then(() => 'given'))
    t.equal(await Promise.race([lock, untilMs(100, 'waits')]), 'waits')
    holder.kill('SIGKILL')
    t.equal(await lock, 'given')
  },
)

t.test('two homes do not share a lock', async (t) => {
  const root = t.testdir()
  const locks = await Promise.all([lockInstance(join(root, 'a')), lockInstance(join(root, 'b'))])
  for (const lock of locks) await lock.release()
  t.equal(locks.length, 2)
})

t.test(
  'without abstract sockets, a lock file of a living process refuses others, and one of a dead process is replaced',
  async (t) => {
    onPlatform(t, 'darwin')
    const home = t.testdir()
    const file = join(home, 'lock')
    const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    t.teardown(() => other.kill('SIGKILL'))
    writeFileSync(file, String(other.pid))
    await t.rejects(lockInstance(home), { code: 'locked', message: new RegExp(`process ${other.pid}:`) })
    t.equal(readFileSync(file, 'utf8'), String(other.pid))
    other.kill('SIGKILL')
    await once(other, 'exit')
    const lock = await lockInstance(home)
    t.match(readFileSync(file, 'utf8'), new RegExp(`^${process.pid} .+`))
    await t.rejects(lockInstance(home), { code: 'locked' })
    await lock.release()
    t.notOk(existsSync(file))
  },
)

t.test(
  'without abstract sockets, a lock file left by a power cut is replaced, whoever has its process id now',
  async (t) => {
    onPlatform(t, 'darwin')
    const home = t.testdir()
    const file = join(home, 'lock')
    const earlier = 'Mon Jan  5 09:00:00 2026'
    for (const left of ['', '\0\0\0', `${process.ppid} ${earlier}`, `${process.pid} ${earlier}`, String(process.pid)]) {
      writeFileSync(file, left)
      const lock = await lockInstance(home)
      t.match(readFileSync(file, 'utf8'), new RegExp(`^${process.pid} `), JSON.stringify(left))
      await lock.release()
    }
  },
)

t.test('reading a home makes no lock file, and a process that began to use it meanwhile is named', async (t) => {
  onPlatform(t, 'darwin')
  const home = t.testdir()
  const guard = await guardForReading(home)
  t.same(readdirSync(home), [])
  guard.assertKept()
  const lock = await lockInstance(home)
  t.throws(() => guard.assertKept(), { code: 'locked', message: new RegExp(`process ${process.pid}:`) })
  await t.rejects(guardForReading(home), { code: 'locked' })
  await lock.release()
  guard.assertKept()
})

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const main = fileURLToPath(new URL('../../bench/main.js', import.meta.url))

t.test('--list prints the questions and exits with 0', async (t) => {
  const { status, stdout } = spawnSync(process.execPath, [main, '--list'], { encoding: 'utf8' })
  t.equal(status, 0)
  t.match(stdout, /^Usage: npm run bench/)
  t.match(stdout, /^ {2}cycles /m)
})

t.test('an unknown question exits with 2', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [main, 'nothing'], { encoding: 'utf8' })
  t.equal(status, 2)
  t.match(stderr, /no question named nothing/)
})

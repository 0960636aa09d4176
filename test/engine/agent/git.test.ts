import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { Git } from '../../../engine/agent/git.ts'
import { StopRequest } from '../../../engine/agent/stop-request.ts'

/** More than a pipe holds, so that writing it fails once nobody reads. */
const INPUT = 'x'.repeat(1024 * 1024)

t.test('a git that ends before it has read its input is told by how it ended', (t) => {
  const folder = t.testdir()
  const gitThat = (script: string): Git => {
    writeFileSync(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const environment = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
    return new Git({ environment, stderr: new PassThrough(), stop: new StopRequest() })
  }
  const run = (script: string): string => gitThat(script).run(folder, ['commit', '-F', '-'], INPUT)
  t.throws(() => run('kill -BUS $$'), { name: 'GitFailed', message: 'git commit was killed by SIGBUS' })
  t.throws(() => run('echo "fatal: no space" >&2; exit 128'), { name: 'GitFailed', message: 'fatal: no space' })
  t.equal(run('echo done'), 'done')
  t.end()
})

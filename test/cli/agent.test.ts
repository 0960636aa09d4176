/** `intendant agent` as a command: its help, and its failure when something is not configured. */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { VARIABLES } from '../../engine/agent/settings.ts'
import { BINARY } from '../binary.ts'
import { NOWHERE } from '../nowhere.ts'
import { cli } from './in-process.ts'

t.test('`intendant agent --help` describes each environment variable with its form, meaning and default', async (t) => {
  const { code, out } = await cli({}, 'agent', '--help')
  t.equal(code, 0)
  for (const variable of VARIABLES) {
    const { name, shape, help } = variable
    const byDefault = 'byDefault' in variable ? `Default: ${variable.byDefault}.` : 'It must be set.'
    t.match(out, new RegExp(`^  ${name} +${help}\\.\n +${shape}\\. ${byDefault}$`, 'm'), name)
  }
  t.ok(out.split('\n').every((line) => line.length <= 110))
})

/** Runs `intendant agent` without a service, token or home. */
function agent(environment: Record<string, string>, input = '') {
  const env = { PATH: process.env.PATH, ENGINE_HOME: NOWHERE, ...environment }
  const { status, stdout, stderr } = spawnSync(process.execPath, [BINARY, 'agent'], { input, env, encoding: 'utf8' })
  return { status, stderr, failure: JSON.parse(stdout).failure }
}

t.test('missing configuration or a faulty Execution Request is reported to the runner as a dispatch failure', (t) => {
  const unset = (names: string) => ({
    status: 1,
    stderr: '',
    failure: {
      class: 'dispatch',
      code: 'not_configured',
      message: `${names} must be set where the runner is started: see intendant agent --help`,
    },
  })
  t.strictSame(agent({}), unset('REPOSITORY (a folder) and AGENT (a shell command)'))
  t.strictSame(agent({ AGENT: 'true', REPOSITORY: '' }), unset('REPOSITORY (a folder)'))
  const configured = { AGENT: 'true', REPOSITORY: NOWHERE }
  for (const input of ['', 'do it', '{}', '[]'])
    t.match(agent(configured, input).failure, {
      class: 'dispatch',
      code: 'malformed_execution_request',
      message: /^standard input is not an Execution Request/,
    })
  const request = { schema_version: 'intendant.execution_request.v2', request_id: 'runreq_1', attempt: 1 }
  t.match(agent(configured, JSON.stringify(request)).failure, { code: 'unsupported_schema_version' })
  const landing = agent({ ...configured, LAND: 'main' })
  t.equal(landing.stderr, 'LAND has no effect without PUSH: nothing is landed\n')
  t.end()
})

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hired } from './hired.ts'
import { executionRequest } from './stand-in.ts'

t.test("heartbeats report the progress of the command's agent sessions until these end", async (t) => {
  const dir = t.testdir({ 's1.jsonl': 'x'.repeat(321) })
  const line = (event_type: string, payload: object) => JSON.stringify({ event_type, payload })
  const go = join(dir, 'go')
  const command = [
    `echo '${line('agent_session_started', { session_id: 's1', source_log_path: join(dir, 's1.jsonl') })}'`,
    `echo '${line('agent_session_started', { session_id: 's2', source_log_path: join(dir, 'none') })}'`,
    // The events keep the lease alive, but the sessions are reported nevertheless.
    `while [ ! -e ${go} ]; do echo '{"event_type":"chatter"}'; sleep 0.005; done`,
    `echo '${line('agent_session_ended', { session_id: 's1', status: 'ok' })}'`,
    `echo '${line('agent_session_ended', { session_id: 's2', status: 'ok' })}'`,
    `while [ ! -e ${go}2 ]; do sleep 0.02; done`,
  ].join('; ')
  const { service, runner } = await hired(t, command, { heartbeatMs: 400 })
  service.offer(executionRequest('runreq_s'))
  const beat = await service.until(({ verb, body }) => verb === 'heartbeat' && body.sessions?.length === 2)
  t.match(beat.body.sessions, [
    { session_id: 's1', bytes_written: 321, last_output_at: /^\d{4}-/ },
    { session_id: 's2' },
  ])
  t.notOk('bytes_written' in beat.body.sessions[1], 'nothing is reported of a file that does not exist')
  writeFileSync(go, '')
  const endsTheLast = ({ event_type, payload }: any) =>
    event_type === 'agent_session_ended' && payload.session_id === 's2'
  await service.until(({ verb, body }) => verb === 'events' && body.events.some(endsTheLast))
  const before = service.said('heartbeat').length
  await service.until(
    ({ verb, body }) => verb === 'heartbeat' && body.sessions === undefined && service.said(verb).length > before,
  )
  writeFileSync(`${go}2`, '')
  t.same(await runner.finished, ['completed'])
  t.ok(existsSync(go))
})

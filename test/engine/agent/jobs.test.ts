/** What `intendant agent` does for entry events other than a task's. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CONTEXT_CHARS_MAX } from '../../../engine/agent/context.ts'
import { executionRequest } from '../stand-in.ts'
import { assertTidy, BRANCH, git, landing, place, run, said, task } from './place.ts'

/** A request with that entry event, as the ledger makes it. */
const asked = (entry_event: string, payload: object = {}) =>
  executionRequest('runreq_1', {
    work_item_id: 'wi_1',
    engine: {
      entry_event,
      throttle: 'full',
      access: 'full',
      payload: { item_id: 'wi_1', project: 'demo', ...payload },
    },
  })

t.test('maintenance is done like a task, and its own event says what came of it', async (t) => {
  const { at, remote, lands, trunk } = landing(t)
  const seen = join(at.folder, 'seen')
  const AGENT = `cat > '${seen}'; echo 2 > lock; echo 'Two are newer'`
  const request = asked('maintenance_requested', { objective: 'Update the linters', context: { only: 'dev' } })
  const done = await run(at, request, { ...lands, AGENT })
  t.equal(done.code, 0, done.stderr)
  const prompt = readFileSync(seen, 'utf8')
  t.match(prompt, /^Maintain this project: Update the linters\n\n[\s\S]*If nothing is due, change nothing/)
  t.match(prompt, /Context:\n\{\n {2}"only": "dev"\n\}/)
  t.match(said(t, done, 'project_maintenance_completed'), [
    { project: 'demo', workflow: 'maintain', success: true, changes: true, landed: true, summary: 'Two are newer' },
  ])
  t.equal(said(t, done, 'task_run_completed').length, 0)
  t.match(said(t, done, 'task_run_started'), [{ branch: BRANCH }])
  t.equal(git(remote, 'log', '-1', '--format=%s', 'main'), 'Maintain this project: Update the linters')
  const idle = await run(
    at,
    { ...asked('maintenance_requested'), request_id: 'runreq_2' },
    { ...lands, AGENT: `cat > '${seen}'; echo fine` },
  )
  t.match(readFileSync(seen, 'utf8'), /^Maintain this project\n\n/)
  t.match(said(t, idle, 'project_maintenance_completed'), [{ success: true, changes: false, summary: 'fine' }])
  const before = trunk()
  const red = await run(
    at,
    { ...asked('maintenance_requested'), request_id: 'runreq_3' },
    { ...lands, AGENT: 'echo 3 > lock', GATE: 'echo no; false' },
  )
  t.match(said(t, red, 'project_maintenance_completed'), [
    {
      success: false,
      preservation_ref: 'origin/intendant/runreq_3-1',
      summary: 'the gate does not pass: echo no; false\nthe work is in origin/intendant/runreq_3-1\nno',
    },
  ])
  t.equal(red.code, 0, 'the item says that it failed')
  t.equal(trunk(), before)
  assertTidy(t, at)
})

t.test('a vulnerability is removed like a task is done, and its own event says what came of it', async (t) => {
  const { at, lands } = landing(t)
  const seen = join(at.folder, 'seen')
  const request = asked('main_branch_audited', {
    ...{ cve: 'CVE-2026-1', dirty: true, package: 'left-pad' },
    ...{ objective: 'Keep to version 1', context: { reported_by: 'scan' } },
  })
  const done = await run(at, request, { ...lands, AGENT: `cat > '${seen}'; echo 2 > lock; echo 'Now 1.3.1'` })
  const prompt = readFileSync(seen, 'utf8')
  t.match(prompt, /^Remove the vulnerability CVE-2026-1 from this project\n\nKeep to version 1\n/)
  t.match(prompt, /"context": \{\n {4}"reported_by": "scan"/)
  t.match(prompt, /"package": "left-pad"/)
  t.match(said(t, done, 'remediation_started'), [{ branch: BRANCH }])
  t.match(said(t, done, 'remediation_completed'), [
    { cve: 'CVE-2026-1', success: true, landed: true, summary: 'Now 1.3.1' },
  ])
  const clean = asked('main_branch_audited', { dirty: false })
  const asks = `cat > '${seen}'; echo '{"question":"Which?","options":["a","b"]}'`
  const unsure = await run(at, { ...clean, request_id: 'runreq_2' }, { ...lands, AGENT: asks })
  t.match(readFileSync(seen, 'utf8'), /An audit of its main branch found it clean/)
  t.match(said(t, unsure, 'remediation_completed'), [{ cve: 'unknown', success: false, summary: 'Which?\n- a\n- b' }])
  assertTidy(t, at)
})

t.test('maintenance without an item fails if nobody would hear that it did not land', async (t) => {
  const { at, lands } = landing(t)
  const { work_item_id: _, ...request } = asked('maintenance_requested')
  const { item_id: _i, ...payload } = request.engine.payload
  const alone = { ...request, engine: { ...request.engine, payload } }
  const done = await run(at, alone, { ...lands, AGENT: 'echo 3 > lock', GATE: 'false' })
  t.equal(done.code, 1)
  t.match(done.lines.at(-1), { failure: { class: 'semantic', code: 'defect' } })
})

t.test('other entry events are refused with what to do about it', async (t) => {
  const at = place(t)
  const others = ['release_requested', 'scan_requested', 'iteration_requested', 'dependency_review_requested']
  for (const entryEvent of [...others, 'validation_requested', 'constructor']) {
    const { code, lines } = await run(at, asked(entryEvent), { AGENT: 'true' })
    t.equal(code, 1)
    t.match(lines, [
      {
        failure: {
          class: 'dispatch',
          code: 'unsupported_entry_event',
          message: new RegExp(`does not handle ${entryEvent}, only execution_requested, .*intendant engine declare`),
        },
      },
    ])
  }
  assertTidy(t, at)
})

t.test('a context that is too long is cut in the prompt, and the agent can read the whole', async (t) => {
  const at = place(t)
  const context = { notes: 'x'.repeat(CONTEXT_CHARS_MAX), last: 'the end' }
  const [seen, whole] = [join(at.folder, 'seen'), join(at.folder, 'whole')]
  const AGENT = `cat > '${seen}'; cp "$(sed -n 's/.*The whole is in \\(.*\\)]$/\\1/p' '${seen}')" '${whole}'; echo done > y`
  const done = await run(at, task({ context }), { AGENT })
  t.equal(done.code, 0, done.stderr)
  const prompt = readFileSync(seen, 'utf8')
  t.match(prompt, `\n[Cut off here, after ${CONTEXT_CHARS_MAX} of `)
  t.ok(prompt.length < CONTEXT_CHARS_MAX + 2_000)
  t.notMatch(prompt, 'the end')
  t.same(JSON.parse(readFileSync(whole, 'utf8')), context)
  t.equal(git(at.repository, 'diff', '--name-only', at.base, BRANCH), 'y', 'it is in no commit')
  assertTidy(t, at)
})

#!/usr/bin/env node
/**
 * A command for the bundled runner: one task of the ledger, done by a coding agent in a git worktree of its own. What the
 * agent changed is committed to a branch, whatever came of it; the gate decides whether the task is complete.
 *
 *   export REPOSITORY=/srv/shop GATE='npm ci && npm test' PUSH=origin
 *   AGENT='claude -p --permission-mode acceptEdits' intendant runner --id build-1 --exec 'exec node agent.mjs'
 *   AGENT='codex exec --sandbox workspace-write -' ...
 *
 * AGENT takes its prompt on standard input and works in its current folder. GATE is what its work must pass; without one the
 * agent's word is taken. PUSH names a remote for the branch; without one it stays in REPOSITORY. Transcripts are kept in
 * TRANSCRIPTS (by default a folder beside the temporary files). Needs Node.js and git. Start your own from it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const { REPOSITORY, AGENT, GATE, PUSH, TRANSCRIPTS = join(tmpdir(), 'intendant-transcripts') } = process.env
const { INTENDANT_PROMPTS_DIR: prompts } = process.env
/** How much of what a command printed last is quoted, characters. */
const TAIL = 4_000

const { request_id: id, attempt, project, engine, trace } = JSON.parse(readFileSync(0, 'utf8'))
const { payload } = engine
const mayChange = engine.throttle === 'full' && engine.access !== 'read_only'
const branch = `intendant/${id}-${attempt}`

const say = (line) => console.log(JSON.stringify(line))
const tell = (event_type, said) => say({ event_type, payload: said })
const now = () => new Date().toISOString()
const git = (cwd, ...args) =>
  execFileSync('git', ['-C', cwd, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()

/** The run fails before anything was done. */
function refuse(code, message) {
  say({ schema_version: 'intendant.run_result.v1', failure: { class: 'dispatch', code, message } })
  process.exit(1)
}

/** Runs a shell command; resolves to its exit code (null: by a signal) and the end of what it printed. */
function run(command, { cwd, input, transcript }) {
  const child = spawn('/bin/sh', ['-c', command], { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  const done = { code: null, printed: '', bytes: 0 }
  const log = transcript && createWriteStream(transcript)
  child.stdout.on('data', (chunk) => {
    done.printed = (done.printed + chunk).slice(-64 * TAIL)
    done.bytes += chunk.length
    if (log) log.write(chunk)
    else process.stderr.write(chunk)
  })
  child.stderr.on('data', (chunk) => {
    if (!log) done.printed = (done.printed + chunk).slice(-64 * TAIL)
    process.stderr.write(chunk)
  })
  child.stdin.on('error', () => {}) // It need not read its prompt.
  child.stdin.end(input)
  return new Promise((end) => {
    child.on('close', (code) => {
      if (log) log.end(() => end({ ...done, code }))
      else end({ ...done, code })
    })
  })
}

/** The prompt of the brief that the run follows, or the task in its own words. */
function promptOf() {
  const written = prompts && join(prompts, 'execution.md')
  if (written && existsSync(written)) return readFileSync(written, 'utf8')
  const context = payload.context === undefined ? '' : `\n\nContext:\n${JSON.stringify(payload.context, null, 2)}\n`
  return `${payload.objective}${context}`
}

/** What the agent said last: text, or the result that `claude -p --output-format json` (or `stream-json`) ends with. */
function lastWord(printed) {
  const last = printed.trim().split('\n').at(-1)
  try {
    const { result, total_cost_usd: cost } = JSON.parse(last)
    if (typeof result === 'string') return { text: result, ...(cost !== undefined && { cost }) }
  } catch {}
  return { text: printed.trim().slice(-TAIL) }
}

/** Launches the agent, and tells of its session. */
async function agentIn(worktree) {
  const session_id = randomUUID()
  mkdirSync(TRANSCRIPTS, { recursive: true })
  const transcript = resolve(TRANSCRIPTS, `${session_id}.jsonl`)
  tell('agent_session_started', {
    session_id,
    agent_type: AGENT.split(' ')[0],
    project: project.key,
    working_dir: worktree,
    source_log_path: transcript,
    capability: 'coding',
    access: mayChange ? 'full' : 'read_only',
    started_at: now(),
    trace_id: trace?.trace_id ?? '',
  })
  const { code, printed, bytes } = await run(AGENT, { cwd: worktree, input: promptOf(), transcript })
  const isThere = code !== 126 && code !== 127
  const { text, cost } = lastWord(printed)
  tell('agent_session_ended', {
    session_id,
    status: code === 0 ? 'ok' : isThere ? 'agent_failed' : 'unavailable',
    ended_at: now(),
    bytes_written: bytes,
    ...(isThere ? code !== null && { exit_code: code } : { error: `${AGENT} could not be run` }),
    ...(cost !== undefined && { cost: { USD: cost, basis: 'as the agent says' } }),
  })
  return { isDone: code === 0, text, how: code === null ? 'was stopped' : `ended with exit code ${code}` }
}

/** Commits what there is to the branch of this run, and hands it on. Returns where it is; undefined: nothing was changed. */
function keep(worktree, base) {
  git(worktree, 'add', '--all')
  if (git(worktree, 'status', '--porcelain') !== '') {
    const subject = String(payload.objective).split('\n')[0].slice(0, 72)
    git(worktree, ...committer(), 'commit', '--quiet', '--no-verify', '-m', `${subject}\n\nIntendant-Request: ${id}`)
  }
  if (git(worktree, 'rev-parse', 'HEAD') === base) return undefined
  if (!PUSH) return branch
  try {
    git(worktree, 'push', '--quiet', PUSH, `HEAD:refs/heads/${branch}`)
    return `${PUSH}/${branch}`
  } catch {
    return branch // It stays here, and git has said why.
  }
}

function committer() {
  try {
    git(REPOSITORY, 'config', 'user.email')
    return []
  } catch {
    return ['-c', 'user.name=intendant', '-c', 'user.email=intendant@localhost']
  }
}

if (!REPOSITORY || !AGENT) refuse('not_configured', 'REPOSITORY and AGENT are not set where the runner was started')
if (engine.entry_event !== 'execution_requested') refuse('unsupported_entry_event', `only tasks are done here`)
const base = git(REPOSITORY, 'rev-parse', '--verify', '--end-of-options', `${payload.base_ref ?? 'HEAD'}^{commit}`)
const worktree = join(mkdtempSync(join(tmpdir(), 'intendant-')), 'work')
// A stop ends the agent, too, and what it leaves is still kept. (`exec`: without a shell before it, it has the whole of --stop-grace.)
process.on('SIGTERM', () => {})
git(REPOSITORY, 'worktree', 'add', '--quiet', '-b', branch, worktree, base)
let kept = branch
let isSafe = false
try {
  const agent = await agentIn(worktree)
  kept = mayChange ? keep(worktree, base) : undefined
  isSafe = true
  const gate = agent.isDone && kept && GATE ? await run(GATE, { cwd: worktree }) : undefined
  const isPassed = gate === undefined || gate.code === 0
  const verdict = !agent.isDone ? 'runner_error' : isPassed ? 'complete' : 'defect'
  const summary = agent.isDone ? (isPassed ? agent.text : `the gate does not pass: ${GATE}`) : `the agent ${agent.how}`
  tell('task_run_completed', {
    project: project.key,
    success: verdict === 'complete',
    landed: false,
    summary: summary || (kept ? 'changed without a word' : 'nothing was changed'),
    verdict,
    ...(verdict === 'runner_error' && { detail: `${summary}: ${agent.text}` }),
    ...(verdict === 'defect' && { diagnosis: gate.printed.slice(-TAIL) }),
    ...(kept && { preservation_ref: kept }),
    workspace_base: { commit: base, trunk: base },
    ...(payload.campaign !== undefined && { campaign: payload.campaign, campaign_cycle: payload.campaign_cycle }),
  })
  process.exitCode = agent.isDone ? 0 : 1
} finally {
  if (isSafe) git(REPOSITORY, 'worktree', 'remove', '--force', worktree)
  else console.error(`what was done is in ${worktree}`)
  if (kept !== branch) git(REPOSITORY, 'branch', '--quiet', '-D', branch)
}

#!/usr/bin/env node
/**
 * A command for the bundled runner: one task of the ledger, done by a coding agent in a git worktree of its own. What the
 * agent changed is committed to a branch, whatever came of it; the gate decides whether the task is complete. The next step
 * of a campaign or an initiative is decided by the same agent, which looks at trunk; nothing that it changes then is kept.
 *
 *   export REPOSITORY=/srv/shop GATE='npm ci && npm test' PUSH=origin LAND=main
 *   AGENT='claude -p --permission-mode acceptEdits' intendant runner --id build-1 --exec 'exec node /srv/agent.mjs'
 *   AGENT='codex exec --sandbox workspace-write -' ...
 *
 * AGENT takes its prompt on standard input and works in its current folder. GATE is what its work must pass; without one the
 * agent's word is taken. PUSH names a remote for the branch; without one it stays in REPOSITORY. LAND names the branch of
 * that remote to which work goes that passed, never by force: where it has moved on it is merged in, and the gate asked again.
 * Without LAND somebody else lands it. Transcripts, as the agent prints them, are kept in TRANSCRIPTS. Needs Node.js and git.
 * Start your own from it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import * as fs from 'node:fs'
import { hostname, tmpdir, userInfo } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } = fs

const { REPOSITORY, AGENT, GATE, PUSH, LAND } = process.env
const { INTENDANT_BRIEF_FILE: briefFile, INTENDANT_PROMPTS_DIR: prompts } = process.env
const { TRANSCRIPTS = join(tmpdir(), `intendant-transcripts-${userInfo().uid}`) } = process.env
/** How much of what a command printed last is quoted, characters. */
const TAIL = 4_000
/** The same of the gates of a campaign, each and all together: the Run Result is one line, and has it twice. */
const GATE_TAIL = 16_000
const GATES_TAIL = 96_000
/** Lines of each of a gate's two streams (SPEC 6.11). */
const GATE_LINES = 200
/** Where in an answer a decision is looked for. */
const ANSWER_TAIL = 64_000
/** How long the output of a command that has ended may still come. */
const OUTPUT_MS = 2_000
const SIGNAL_MS = 250
/** How long what runs may go on after a stop. The runner waits for longer (`--stop-grace`): the work is committed then. */
const STOP_MS = 5_000
/** How long git may take for what is on this machine, and over a line, which may hang. */
const GIT_MS = 10 * 60_000
const LINE_MS = 8 * 60_000
/** The latter behind a stop: an agent that does not heed it has had STOP_MS by then. */
const LAST_LINE_MS = 3_000
/** How long what git has been asked to leave may go on before it is killed. */
const LEAVE_MS = 1_000
/** How long another run may have its turn: more than LINE_MS. */
const TURN_MS = 10 * 60_000
const LOOK_MS = 50
/** How long what a command left running in the background may still hold a lock of the worktree. */
const LOCK_MS = 1_000
/** How much of what git has against something is told, characters. It begins with the cause. */
const COMPLAINT_HEAD = 1_000
const GIT_OUTPUT_MAX = 256 * 1024 * 1024
/** How often work is brought up to a trunk that moves on while it is landed. */
const MERGES_MAX = 2
/** Commits of others that are told of. */
const ARRIVALS_MAX = 100
/** What git keeps of what was begun and not ended. */
const BEGUN = { 'rebase-merge': 'rebase', 'rebase-apply': 'rebase', CHERRY_PICK_HEAD: 'cherry-pick', REVERT_HEAD: 'revert' }
/** Told behind a task in its own words: a brief says it in its. */
const QUESTIONS = `If you cannot go on without a decision that only a person can make, stop there, and end your answer with
{"question": "...", "options": ["...", "..."]}`

const { request_id: id, attempt, project, engine, trace, repo } = JSON.parse(readFileSync(0, 'utf8'))
const { payload } = engine
/** Whoever gave us the work: an orphan's is another's by now. */
const parent = process.ppid
/** As a lock names it. */
const SELF = `${hostname()}:${process.pid}`
const isStep = ['campaign_advance_requested', 'initiative_advance_requested'].includes(engine.entry_event)
const mayChange = !isStep && engine.throttle === 'full' && engine.access !== 'read_only'
const branch = `intendant/${id}-${attempt}`
/** The program that AGENT runs. No other word of it is told: secrets may stand behind it, and before (`KEY=... agent`). */
const agentName = nameOf(AGENT ?? '')
/** In the words of whoever asked for it, or of the brief that the run follows. */
const task = String(payload.objective ?? (briefFile ? objectiveOf(briefFile) : '')).trim()

const say = (line) => console.log(JSON.stringify(line))
const tell = (event_type, said) => say({ event_type, payload: said })
const now = () => new Date().toISOString()
const endOf = (text, chars = TAIL) => text.slice(-chars).toWellFormed()

function nameOf(command) {
  const settings = /^(?:\s*[A-Za-z_]\w*=(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\([^)]*\)|\\.|[^\s'"\\])*(?=\s))*/
  const [word] = command.replace(settings, '').trim().split(/\s/)
  return (word.includes('=') ? '' : basename(word).replace(/[^\w.+@-]/g, '')) || 'agent'
}

/** Git does not do what it was to do; in a line. */
class GitFailed extends Error {}

/** Git or the machine is at fault, and not what is written here. */
const isOutside = (error) => error instanceof GitFailed || error.syscall !== undefined

/** Its messages are read here. */
const environment = { ...process.env, LANGUAGE: 'en' }
/** Hooks are the business of whoever works in a checkout: the gate is what checks here. Not in a push: LFS needs its own. */
const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null']

/** What git prints. In a group of its own, so that a stop does not cut it off in the middle. Throws GitFailed. */
function git(cwd, args, input = '') {
  const bounds = { maxBuffer: GIT_OUTPUT_MAX, timeout: GIT_MS, killSignal: 'SIGKILL' }
  const options = { input, encoding: 'utf8', env: environment, detached: true, ...bounds }
  const { pid, status, stdout, stderr, error } = spawnSync('git', ['-C', cwd, ...NO_HOOKS, ...args], options)
  if (stderr) process.stderr.write(stderr)
  if (error?.code === 'ETIMEDOUT') {
    quietly(() => process.kill(-pid, 'SIGKILL'))
    throw new GitFailed(`git ${commandOf(args)} did not end in ${GIT_MS / 60_000} min`)
  }
  if (error) throw error
  // What ends with NUL may begin with a space.
  if (status === 0) return stdout.replace(/\n$/, '')
  const lines = linesOf(stderr)
  throw new GitFailed(lines.find((line) => /^(fatal|error): /.test(line)) ?? lines.at(-1) ?? `git ended with ${status}`)
}

const commandOf = (args) => args.find((arg) => /^[a-z][a-z-]*$/.test(arg))
const linesOf = (text) => text.split('\n').filter((line) => line.trim() !== '')

/**
 * Runs git where that goes over a line, which may hang; resolves to what it has against it (GitFailed), undefined: nothing.
 * In a group of its own, too, but a stop is heard meanwhile.
 */
function gitOver(cwd, args) {
  const options = { stdio: ['ignore', 'ignore', 'pipe'], env: environment, detached: true }
  const child = spawn('git', ['-C', cwd, ...args], options)
  const complained = tailOf(child.stderr)
  child.stderr.pipe(process.stderr, { end: false })
  const limitMs = stoppedAt === undefined ? LINE_MS : LAST_LINE_MS
  let ending
  const end = (why) => {
    const signal = (name) => quietly(() => process.kill(-child.pid, name))
    signal('SIGTERM')
    ending = { why, timer: setTimeout(() => signal('SIGKILL'), LEAVE_MS) }
  }
  const limit = setTimeout(() => end(`did not end in ${limitMs / 1_000} s`), limitMs)
  endIt = () => end('was stopped')
  return new Promise((resolve) => {
    const settle = (fault) => {
      clearTimeout(limit)
      clearTimeout(ending?.timer)
      endIt = undefined
      resolve(fault && new GitFailed(`git ${commandOf(args)} ${fault}`))
    }
    child.on('error', ({ message }) => settle(message))
    child.on('close', (code) => {
      const lines = linesOf(complained()).map((line) => line.trim())
      const said = lines.join('; ').slice(0, COMPLAINT_HEAD).toWellFormed()
      settle(code === 0 ? undefined : (ending?.why ?? `failed: ${said || `it ended with ${code}`}`))
    })
    // What it left running in the background (a shared connection of ssh's) may keep its output open.
    child.on('exit', () => setTimeout(() => child.stderr.destroy(), OUTPUT_MS).unref())
  })
}

/** Whether git says so: by its exit code. What it has to say against it is on standard error. */
function does(cwd, args) {
  try {
    git(cwd, args)
    return true
  } catch {
    return false
  }
}

/** What git has against it, as in `gitOver`. */
function faultOf(act) {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof GitFailed) return error
    throw error
  }
}

/** Does what runs that share REPOSITORY do one at a time: git's own locks refuse whoever comes second. */
async function inTurn(act) {
  let folder
  try {
    folder = git(REPOSITORY, ['rev-parse', '--git-common-dir'])
  } catch {
    return act()
  }
  const lock = resolve(REPOSITORY, folder, 'intendant.lock')
  try {
    while (!isTaken(lock) && !(Date.now() - stoppedAt > STOP_MS)) await pause(LOOK_MS)
  } catch (error) {
    // Who may not write there is told so by git, too.
    console.error(error.message)
  }
  try {
    return await act()
  } finally {
    if (holderOf(lock) === SELF) rmSync(lock, { force: true })
  }
}

/**
 * Whether the turn is ours now. A lock names who has it: one of a run that was killed counts for nothing. Who takes its place
 * has a turn for that, too, and looks again then: of two that saw it, the second would take the lock of the first.
 */
function isTaken(lock) {
  try {
    fs.symlinkSync(SELF, lock)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  const heir = `${lock}.next`
  if (!isLeft(lock) || !isTaken(heir)) return false
  const isOurs = isLeft(lock)
  if (isOurs) fs.renameSync(heir, lock)
  else rmSync(heir, { force: true })
  return isOurs
}

/** Who had it was killed, or has had it for too long. */
function isLeft(lock) {
  const holder = holderOf(lock)
  if (holder === undefined) return false
  // In a container that was started again numbers of processes come again: who had ours is gone.
  if (holder === SELF) return true
  const [host, pid] = holder.split(':')
  if (host === hostname() && !lives(Number(pid))) return true
  const since = fs.lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - since > TURN_MS
}

/** Undefined: nobody has it any more. */
function holderOf(lock) {
  try {
    return fs.readlinkSync(lock)
  } catch {
    return undefined
  }
}

function lives(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

const conclude = (result) => say({ schema_version: 'intendant.run_result.v1', ...result })

/** The run fails before anything was done. */
function refuse(code, message) {
  conclude({ failure: { class: 'dispatch', code, message } })
  process.exit(1)
}

/** What the run cannot begin without. */
function needed(make) {
  try {
    return make()
  } catch (error) {
    return refuse('no_folder', error.message)
  }
}

/** Keeps the end of what a stream prints. */
function tailOf(stream) {
  const decoder = new TextDecoder()
  let text = ''
  stream.on('data', (chunk) => {
    text = (text + decoder.decode(chunk, { stream: true })).slice(-64 * TAIL)
  })
  return () => text.trim()
}

/** A stream that takes no more (its disk is full, who reads it is gone) pauses for good what is piped into it. */
const goOn = (source) => source.resume()
process.stderr.on('unpipe', goOn)

/** Runs a shell command; resolves to its exit code (null: by a signal) and the end of what it printed. */
function run(command, { cwd, input, transcript }) {
  const child = spawn('/bin/sh', ['-c', command], { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  endIt = () => child.kill('SIGKILL')
  const printed = tailOf(child.stdout)
  const complained = tailOf(child.stderr)
  let bytes = 0
  child.stdout.on('data', (chunk) => {
    bytes += chunk.length
  })
  const log = transcript ? createWriteStream(transcript, { mode: 0o600 }) : process.stderr
  if (transcript) {
    log.on('error', (error) => console.error(`no transcript: ${error.message}`))
    log.on('unpipe', goOn)
  }
  child.stdout.pipe(log, { end: transcript !== undefined })
  child.stderr.pipe(process.stderr, { end: false })
  child.on('error', (error) => console.error(error.message)) // Its folder is gone.
  child.stdin.on('error', () => {}) // It need not read its prompt.
  child.stdin.end(input)
  return new Promise((end) => {
    child.on('close', async (code) => {
      // Who stops the run signals its whole group: that we were meant, too, may be heard behind the command's end.
      if (code === null) await new Promise((heard) => setTimeout(heard, SIGNAL_MS))
      end({ code, bytes, printed: printed(), complained: complained() })
    })
    // What it left running in the background may keep its output open.
    child.on('exit', () => setTimeout(() => [child.stdout, child.stderr].map((one) => one.destroy()), OUTPUT_MS).unref())
  })
}

/** Pushes; resolves to what git has against it. */
const push = (...args) => gitOver(worktree, ['push', '--quiet', ...args])
/** Git looks whether what new commits name of submodules is on a remote of theirs. */
const CHECKED = '--recurse-submodules=check'
const isOfSubmodules = ({ message }) => message.includes('not be found on any remote')

function objectiveOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).snapshot.mission.objective
}

/** The prompt of the brief that the run follows, or the task in its own words. */
function promptOf() {
  const written = prompts && join(prompts, 'execution.md')
  if (written && existsSync(written)) return readFileSync(written, 'utf8')
  const context = payload.context === undefined ? '' : `\n\nContext:\n${JSON.stringify(payload.context, null, 2)}\n`
  return `${task}${context}\n\n${QUESTIONS}\n`
}

/** What the agent is told of work that was begun before: where trunk conflicts with it, or what is wrong with it. */
function continuedPrompt(conflicts, fault) {
  if (!isContinued) return ''
  const begun = '\n\nThis work was begun before, and is committed. Add to its commits, and rewrite none of them.'
  if (conflicts.length > 0) {
    const list = conflicts.map((file) => `- ${file}`).join('\n')
    const how = `Resolve them first, and keep what both sides mean. Leave no conflict markers.
A file that is right as it stands wants \`git add\`.`
    const since = `Since then ${LAND} has moved on. That is being merged in, and conflicts in these files:`
    return `${begun} ${since}\n\n${list}\n\n${how}\n`
  }
  return fault === undefined ? `${begun}\n` : `${begun} As it stands ${fault.summary}\n\n${fault.diagnosis}\n`
}

/** What the agent said last: text, or the result that `claude -p --output-format json` (or `stream-json`) ends with. */
function lastWord(printed) {
  try {
    const { result, total_cost_usd: cost } = JSON.parse(printed.split('\n').at(-1))
    if (typeof result === 'string') return { text: result, ...(typeof cost === 'number' && { cost }) }
  } catch {}
  return { text: printed }
}

/** Launches the agent, and tells of its session. */
async function agentIn(worktree, prompt) {
  const session_id = randomUUID()
  const transcript = resolve(TRANSCRIPTS, `${session_id}.jsonl`)
  tell('agent_session_started', {
    session_id,
    agent_type: agentName,
    project: project.key,
    working_dir: worktree,
    source_log_path: transcript,
    capability: isStep ? 'reasoning' : 'coding',
    access: mayChange ? 'full' : 'read_only',
    started_at: now(),
    trace_id: trace?.trace_id ?? '',
  })
  const { code, printed, complained, bytes } = await run(AGENT, { cwd: worktree, input: prompt, transcript })
  const isThere = code !== 126 && code !== 127
  const { text, cost } = lastWord(printed)
  tell('agent_session_ended', {
    session_id,
    status: code === 0 ? 'ok' : isThere ? 'agent_failed' : 'unavailable',
    ended_at: now(),
    bytes_written: bytes,
    ...(isThere ? code !== null && { exit_code: code } : { error: `${agentName} could not be run` }),
    ...(cost !== undefined && { cost: { USD: cost, basis: 'as the agent says' } }),
  })
  const how = code === null ? 'was stopped' : `ended with exit code ${code}`
  return { isDone: code === 0, isThere, text, how: `the agent ${how}`, complaint: endOf(complained) }
}

/** The end of what a gate printed, of both streams: neither pushes the other out. */
function outputOf({ printed, complained }, chars) {
  const [out, err] = [printed, complained].map((text) => text.split('\n').slice(-GATE_LINES).join('\n'))
  const half = Math.ceil(chars / 2)
  const ends = [endOf(out, Math.max(half, chars - err.length)), endOf(err, Math.max(half, chars - out.length))]
  return err === '' ? ends[0] : `${out === '' ? '' : `${ends[0]}\n`}--- stderr ---\n${ends[1]}`
}

/** Each gate of a campaign as it stands on trunk. A file that it should have left and did not makes it red. */
async function gatesIn(worktree) {
  const results = []
  const gates = payload.gates ?? []
  const chars = Math.min(GATE_TAIL, Math.floor(GATES_TAIL / gates.length))
  for (const { name, command, required, artifacts = [] } of gates) {
    if (isStopped) break
    const { code, ...said } = await run(command, { cwd: worktree })
    const missing = artifacts.filter((path) => !existsSync(join(worktree, path))).map((path) => `${path} is not there`)
    const output = [outputOf(said, chars), ...missing].filter((text) => text !== '').join('\n')
    const passed = code === 0 && missing.length === 0
    results.push({ name, command, required, passed, output, ...(code !== null && { exit_code: code }) })
  }
  return results
}

/** What the service asks, and what its gates say. */
function stepPrompt(gates) {
  if (gates.length === 0) return payload.prompt
  const lines = gates.map(({ name, passed, output }) => `- ${name} ${passed ? 'passes' : `fails:\n${output}`}`)
  return `${payload.prompt}\n\n## The gates on trunk, just now\n\n${lines.join('\n')}\n`
}

/** The last object in the answer that has such a member, whatever stands around it, and what stands behind it. */
function objectIn(answer, member) {
  let last = {}
  for (let from = answer.indexOf('{'); from !== -1; from = answer.indexOf('{', from + 1)) {
    const end = endOfObject(answer, from)
    try {
      const said = JSON.parse(answer.slice(from, end))
      if (said[member] === undefined) continue
      last = { said, behind: answer.slice(end) }
      from = end - 1
    } catch {}
  }
  return last
}

/** Behind the brace that closes the one at `from`; braces in strings are none. */
function endOfObject(text, from) {
  const tokens = /"(?:[^"\\]|\\.)*"|[{}]/g
  tokens.lastIndex = from
  let depth = 0
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    if (token[0] === '{') depth += 1
    if (token[0] === '}') depth -= 1
    if (depth === 0) return tokens.lastIndex
  }
  return from
}

function decisionIn(answer) {
  const { said } = objectIn(answer, 'decision')
  return typeof said?.decision === 'object' ? said.decision : said
}

/** The question with which the answer ends, for a person; undefined: it asks nothing. */
function questionIn(answer) {
  const { said, behind } = objectIn(answer, 'question')
  if (said === undefined || !/^[\s`]*$/.test(behind)) return undefined
  const { question, options } = said
  if (typeof question !== 'string' || question.trim() === '') return undefined
  return { finding: question, options: Array.isArray(options) ? options.filter((one) => typeof one === 'string') : [] }
}

/** Nothing was done, and the next task would find no agent either: the runner takes nothing for a while. */
const NOT_THERE = { class: 'dispatch', code: 'provider_unavailable' }

/** The agent's advice. One that decides nothing is told as it is: the service hands that to its owner. */
async function decideIn(worktree) {
  const gate_results = await gatesIn(worktree)
  if (isStopped) return false
  const prompt = stepPrompt(gate_results)
  const { isDone, isThere, text, how, complaint } = await agentIn(worktree, prompt)
  if (isStopped) return false
  const message = endOf(`${how}: ${text || complaint}`)
  const failure = isThere ? { class: 'execution', code: 'agent_failed', message } : { ...NOT_THERE, message }
  const decision = decisionIn(endOf(text, ANSWER_TAIL))
  const advice = { decision, gate_results, agent_provider: agentName, prompt }
  if (!isDone) conclude({ failure })
  else conclude(decision ? advice : { ...advice, errors: [message] })
  return isDone
}

/** Adds what there is, for the next commit. What git says against some of it; undefined: nothing. */
function addIn(worktree) {
  try {
    git(worktree, ['add', '--all'])
    return undefined
  } catch (error) {
    does(worktree, ['add', '--all', '--ignore-errors'])
    return error
  }
}

/** What no commit of the worktree can hold, as git's fault: changes within a submodule; undefined: nothing. */
function unheldIn(worktree) {
  const entries = git(worktree, ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules=none']).split('\0')
  const paths = entries.map((entry) => /^[1u] \S\S S.*? 160000 (?:[0-9a-f]{40,} )+(.*)$/s.exec(entry)?.[1]).filter(Boolean)
  return paths.length === 0 ? undefined : new GitFailed(`changes in ${paths.join(', ')} are not committed there`)
}

/** Commits what was added to the branch of this run. Returns its newest commit; undefined: it holds nothing that is new. */
function commit(worktree, from) {
  const isMerge = does(worktree, ['rev-parse', '--quiet', '--verify', 'MERGE_HEAD'])
  if (isMerge || !does(worktree, ['diff', '--cached', '--quiet', '--ignore-submodules=none'])) {
    const message = `${task.split('\n')[0].slice(0, 72)}\n\nIntendant-Request: ${id}\n`
    git(worktree, [...committer(), 'commit', '--quiet', '--file=-'], message)
  }
  // Wherever the agent went: it may have made a branch of its own, renamed this one, or gone back from what it had committed.
  const ref = `refs/heads/${branch}`
  const [head, left] = [headOf(worktree), commitOf(ref) ?? from]
  const trunk = trunkHere()
  const isOld = (commit) => isWithin(commit, from) || (trunk !== undefined && isWithin(commit, trunk))
  if (isOld(head)) {
    // The gate is asked about what is to land.
    if (left !== head) git(worktree, ['checkout', '--quiet', '--force', '--detach', left])
    return isOld(left) ? undefined : left
  }
  if (!isWithin(left, head)) {
    git(worktree, ['update-ref', `${ref}-left`, left])
    aside += ` (commits that are not in it: ${branch}-left in ${REPOSITORY})`
  }
  git(worktree, ['update-ref', ref, head])
  return head
}

const headOf = (worktree) => git(worktree, ['rev-parse', 'HEAD'])

function committer() {
  if (does(REPOSITORY, ['config', 'user.email'])) return []
  return ['-c', 'user.name=intendant', '-c', 'user.email=intendant@localhost']
}

/** Repositories within the worktree, of which a commit holds no more than a commit of theirs; `changes`: a `--diff-filter`. */
function repositoriesIn(worktree, since, head, changes) {
  const shown = ['--raw', '-z', '--no-renames', '--no-abbrev', '--ignore-submodules=none', `--diff-filter=${changes}`]
  const found = git(worktree, ['diff', ...shown, since, head]).matchAll(/(?<=^|\0):\d+ 160000 \S+ (\S+) \w\0([^\0]+)/g)
  return [...found].map(([, commit, path]) => ({ commit, path }))
}

/** Paths of all that the worktree has, as its index names them. */
function allRepositoriesIn(worktree) {
  const entries = filesIn(worktree, ['ls-files', '--stage', '-z'])
  return entries.filter((entry) => entry.startsWith('160000 ')).map((entry) => entry.slice(entry.indexOf('\t') + 1))
}

const isPopulated = (path) => existsSync(join(worktree, path, '.git'))

/** Whether a remote of that repository has what is named, so far as is known here; `but`: what need not be asked for. */
function isElsewhere(path, commits, but = []) {
  try {
    return git(join(worktree, path), ['rev-list', '--max-count=1', ...commits, '--not', '--remotes', ...but]) === ''
  } catch {
    return false
  }
}

/** Whether a repository within the worktree holds commits that would be gone with it; `from`: where the run began. */
function isOnlyHere(path, from) {
  if (!isPopulated(path)) return false
  const [, , pinned] = git(worktree, ['ls-tree', '-z', from, '--', path]).split(/[ \t]/)
  const isKnown = pinned && does(join(worktree, path), ['cat-file', '-e', `${pinned}^{commit}`])
  return !isElsewhere(path, ['HEAD', '--branches'], isKnown ? [pinned] : [])
}

/** Fetches, in its turn; resolves to what git has against it. */
const fetchRefs = (...refs) => inTurn(() => gitOver(REPOSITORY, ['fetch', '--quiet', ...refs]))

/** By its name: a clone of one branch (`--single-branch`, `--depth 1`) does not fetch others by itself. */
const fetchBranch = (name) => fetchRefs(PUSH, `+refs/heads/${name}:refs/remotes/${PUSH}/${name}`)

/** The same of trunk, which is not there any more where the remote has none. */
async function fetchTrunk() {
  const fault = await fetchBranch(LAND)
  if (!/couldn't find remote ref/.test(fault?.message ?? '')) return fault
  await inTurn(() => does(REPOSITORY, ['update-ref', '-d', `refs/remotes/${PUSH}/${LAND}`]))
  return undefined
}

/** What the run is to begin with. Where trunk cannot be asked for it does not begin. */
async function fetchFirst() {
  const fault = LAND && (await fetchTrunk())
  if (isStopped) process.exit(1)
  if (fault) refuse('fetch_failed', fault.message)
  await fetchRefs(PUSH)
  const isAll = does(REPOSITORY, ['config', '--get', `remote.${PUSH}.fetch`, 'refs/heads/[*]:'])
  if (wanted !== undefined && wanted !== LAND && !isAll && isName(wanted)) await fetchBranch(wanted)
}

/** Git takes it for the name of something, and for nothing else. */
const isName = (name) => does(REPOSITORY, ['check-ref-format', '--allow-onelevel', name])

/** The commit to begin at, as it is known here; undefined: it is not. */
function baseHere() {
  if (named === undefined) return trunkHere()
  return (PUSH && commitOf(`${PUSH}/${named}`)) || commitOf(named)
}

/** The same from the remote: a tag, a commit of no branch, one behind the end of a shallow clone. */
async function fetchBase() {
  if (isName(wanted)) {
    const found = await inTurn(async () => {
      const fault = await gitOver(REPOSITORY, ['fetch', '--quiet', '--end-of-options', PUSH, wanted])
      return fault ? undefined : commitOf('FETCH_HEAD')
    })
    if (found !== undefined) return found
  }
  if (git(REPOSITORY, ['rev-parse', '--is-shallow-repository']) === 'true') await fetchRefs('--unshallow', PUSH)
  return baseHere()
}

/** Tries to sign where commits are: whoever has no key here would hear of it when the work is done. */
async function trySigning() {
  if (git(REPOSITORY, ['config', '--type=bool', '--default=false', '--get', 'commit.gpgsign']) !== 'true') return
  const fault = await gitOver(REPOSITORY, [...committer(), 'commit-tree', '-S', '-m', 'signed', `${base}^{tree}`])
  if (fault && !isStopped) refuse('no_signature', `commits are signed in ${REPOSITORY} (commit.gpgsign), but ${fault.message}`)
}

/** The newest commit of trunk, as it was fetched last. */
const trunkHere = () => commitOf(isLanding ? `${PUSH}/${LAND}` : 'HEAD')

/** The commit of that name, here or of the remote; undefined: there is none. */
function commitOf(name) {
  for (const prefix of ['', 'refs/remotes/']) {
    try {
      return git(REPOSITORY, ['rev-parse', '--quiet', '--verify', '--end-of-options', `${prefix}${name}^{commit}`])
    } catch {}
  }
  return undefined
}

const isWithin = (commit, other) => does(REPOSITORY, ['merge-base', '--is-ancestor', commit, other])

/** Merges a commit into what is checked out. `conflicts`: as git leaves them, content by file. */
function merge(worktree, commit) {
  const said = ['-m', `Merge ${LAND}`, '-m', `Intendant-Request: ${id}`]
  const isMerged = does(worktree, ['-c', 'merge.ff=true', ...committer(), 'merge', '--quiet', ...said, commit])
  const files = isMerged ? [] : unmergedIn(worktree)
  return { isMerged, conflicts: new Map(files.map((file) => [file, contentOf(join(worktree, file))])) }
}

const filesIn = (worktree, args) => git(worktree, args).split('\0').filter((file) => file !== '')
const unmergedIn = (worktree) => filesIn(worktree, ['diff', '--name-only', '-z', '--diff-filter=U'])

/** Undefined: there is nothing. Of what is no file, when it was made. */
function contentOf(path) {
  const found = fs.lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? readFileSync(path, 'latin1') : found?.ctimeMs
}

/** Git's marks stand in it. */
const isMarked = (path) => /^(<{7}|>{7}) /m.test(contentOf(path) ?? '')

/**
 * The files of a merge that nobody has resolved: marks stand in them, or (what is no text gets none) they are as the merge
 * left them. Of a merge that the agent began and did not end, all.
 */
function unresolvedIn(worktree, conflicts) {
  const unmerged = new Set(unmergedIn(worktree))
  const isAsItWas = (file, path) =>
    unmerged.has(file) && (!conflicts.has(file) || (existsSync(path) && contentOf(path) === conflicts.get(file)))
  const isLeft = (file) => isMarked(join(worktree, file)) || isAsItWas(file, join(worktree, file))
  return [...new Set([...conflicts.keys(), ...unmerged])].filter(isLeft)
}

/** The same of merges that are committed: what differs from both sides was merged by hand. */
function markedSince(since, head) {
  const merged = ['log', '--first-parent', '--merges', '-c', '--name-only', '-z', '--format=', `${since}..${head}`]
  return [...new Set(filesIn(worktree, merged))].filter((file) => isMarked(join(worktree, file)))
}

/** What the agent has begun in git and not ended; undefined: nothing. */
function begunIn() {
  return BEGUN[Object.keys(BEGUN).find((name) => existsSync(join(gitFolder, name)))]
}

/** The newest of what the agent has stashed and not taken back, as a commit. A clone has one stash for all its worktrees. */
function stashedIn(worktree) {
  const entries = git(worktree, ['stash', 'list', '--format=%H %gs']).split('\n')
  return entries.find((entry) => /^\S+ (WIP on|On) (.*?): /.exec(entry)?.[2] === branch)?.split(' ')[0]
}

/** Takes back what the agent has stashed where it has left nothing else; whether that is so. Otherwise it is told of. */
function isUnstashed(worktree, from) {
  const stashed = stashedIn(worktree)
  if (stashed === undefined) return false
  const isAll = headOf(worktree) === from && git(worktree, ['status', '--porcelain']) === ''
  if (isAll && does(worktree, ['stash', 'apply', '--quiet', stashed])) return true
  aside += ` (stashed, and not in it: ${stashed} in ${REPOSITORY})`
  return false
}

/** What is locked in the worktree, or its branch. */
function locksLeft() {
  const own = fs.readdirSync(gitFolder).filter((name) => name.endsWith('.lock'))
  const ofBranch = resolve(gitFolder, '../../refs/heads', `${branch}.lock`)
  return [...own.map((name) => join(gitFolder, name)), ofBranch].filter((lock) => existsSync(lock))
}

/**
 * Behind a command that ran in the worktree: git can go on there. Locks that a git left that was killed are removed: the worktree
 * and its branch are this run's alone, and its command is over; what that left in the background has LOCK_MS to let go. Throws
 * GitFailed where it is no worktree any more: git would do its work in whatever repository there is above it.
 */
async function regain() {
  if (contentOf(join(worktree, '.git')) !== link || !existsSync(gitFolder))
    throw new GitFailed(`the worktree's .git was taken away`)
  const since = Date.now()
  while (locksLeft().length > 0 && Date.now() - since < LOCK_MS) await pause(LOOK_MS)
  for (const lock of locksLeft()) rmSync(lock, { force: true })
}

/** Does what can be done without. */
function quietly(tidy) {
  try {
    tidy()
  } catch (error) {
    console.error(error.message)
  }
}

/** Nothing of the run stays in the clone but its branch, where that is kept. */
async function takeDown(isWithBranch) {
  quietly(() => rmSync(folder, { recursive: true, force: true }))
  await inTurn(() => {
    quietly(() => git(REPOSITORY, ['worktree', 'remove', '--force', '--force', worktree]))
    if (!isStep && isWithBranch) quietly(() => git(REPOSITORY, ['branch', '--quiet', '-D', branch]))
  })
}

if (!REPOSITORY || !AGENT) refuse('not_configured', 'REPOSITORY and AGENT are not set where the runner was started')
if (!isStep && engine.entry_event !== 'execution_requested')
  refuse('unsupported_entry_event', 'only tasks and the next steps of campaigns and initiatives are done here')
if (!isStep && task === '') refuse('no_objective', 'the task has no objective')
if (!does(REPOSITORY, ['rev-parse', '--git-dir']))
  refuse('no_repository', `${REPOSITORY} is no git repository, or none that this user may read`)
const isLanding = Boolean(PUSH && LAND)
const named = payload.base_ref ?? repo?.revision ?? repo?.branch
const wanted = PUSH && named?.startsWith(`${PUSH}/`) ? named.slice(PUSH.length + 1) : named

let isStopped = false
/** Undefined also where nobody hears us any more: an orphan has its time. */
let stoppedAt
/** Ends what runs now. */
let endIt
// The agent hears it, too; what it leaves is still kept, also where it does not heed it.
process.on('SIGTERM', () => {
  isStopped = true
  stoppedAt ??= Date.now()
  setTimeout(() => endIt?.(), STOP_MS).unref()
})
// Nobody hears any more what became of it.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', () => {
    isStopped = true
  })

if (PUSH) await fetchFirst()
const trunk = trunkHere()
const base = baseHere() ?? (PUSH && named !== undefined ? await fetchBase() : undefined)
if (isStopped) process.exit(1)
if (base === undefined && named === undefined && isLanding) refuse('unknown_base', `${PUSH} has no branch ${LAND}`)
if (base === undefined) refuse('unknown_base', `${REPOSITORY} has no commit ${named ?? 'HEAD'}`)
// Of a shallow clone, where they come together is not here.
if (PUSH && trunk && !does(REPOSITORY, ['merge-base', base, trunk])) await fetchRefs('--unshallow', PUSH)
if (mayChange) await trySigning()
if (isStopped) process.exit(1)
needed(() => mkdirSync(TRANSCRIPTS, { recursive: true, mode: 0o700 }))
const folder = needed(() => mkdtempSync(join(tmpdir(), 'intendant-')))
const worktree = join(folder, 'work')
const as = isStep ? ['--detach'] : ['-b', branch]
const add = ['worktree', 'add', '--quiet', '--no-checkout', ...as, worktree, base]
// Who looks at all worktrees of a clone fails at one that is half made. Files take longer, and are nobody else's.
const notAdded = await inTurn(() => faultOf(() => git(REPOSITORY, add)))
// A filter (LFS) may fetch them.
const unmade = notAdded ?? (await gitOver(worktree, [...NO_HOOKS, 'checkout', '--quiet', '--force']))
if (unmade) {
  if (notAdded) rmSync(folder, { recursive: true })
  else await takeDown(true)
  refuse('no_worktree', `${REPOSITORY} gives no worktree for ${branch}: ${unmade.message}`)
}

/** What `.git` of the worktree says, and the folder of git's that it names. */
const link = contentOf(join(worktree, '.git'))
const gitFolder = git(worktree, ['rev-parse', '--absolute-git-dir'])
/** Where the work is: undefined where nothing was changed. */
let kept
/** Nothing is in the worktree that is nowhere else. */
let mayGo = true
let isBegun = false
/** Where commits are that the agent left behind, to be told. */
let aside = ''

/** Whether the run goes on from work of an earlier one that is not on trunk. */
const isContinued = /(^|\/)intendant\//.test(payload.base_ref ?? '') && trunk !== undefined && !isWithin(base, trunk)
/** Behind it is what would land. */
const since = isContinued ? trunk : base

/** What a gate left behind is in nobody's way, and in no commit. */
function sweep() {
  git(worktree, ['reset', '--quiet', '--hard'])
  git(worktree, ['clean', '--quiet', '-d', '--force'])
}

/** Lands the commit, and merges trunk in where that has moved on. What became of it: `landed`, or why it did not land. */
async function land(commit) {
  let [head, arrivals, seen, refused] = [commit, undefined, trunk, undefined]
  const end = (said) => ({ head, ...(arrivals && { trunk_arrivals: arrivals }), ...said })
  const isOver = () => isStopped || process.ppid !== parent
  // What began at a branch of somebody's is brought to trunk by whoever knows what for.
  if (!isContinued && !(trunk !== undefined && isWithin(base, trunk))) return end({ land_blocked: 'checkout_not_ready' })
  for (let merges = 0; ; ) {
    if (isOver()) return end({})
    const unfetched = await fetchTrunk()
    if (isOver()) return end({})
    if (unfetched) return end(blockedBy('git_failed', unfetched.message))
    const moved = trunkHere()
    // It was renamed, or something was taken out of it, which would be back on it.
    if (moved === undefined) return end(blockedBy('checkout_not_ready', `${LAND} is gone from ${PUSH}`))
    if (!isWithin(seen, moved))
      return end(blockedBy('checkout_not_ready', `${LAND} was rewritten, and no longer holds what this began at`))
    // Also where the remote has taken it, and its word for that was lost.
    if (isWithin(head, moved)) return end({ landed: true })
    if (isWithin(moved, head)) {
      if (moved === refused?.at) return end(blockedBy('git_failed', refused.message))
      const fault = await pushToTrunk(head, moved)
      if (fault === undefined) return end({ landed: true })
      if (isStopped) {
        console.error(`stopped in the push to ${LAND}, which may have taken it: ${head}`)
        return end({})
      }
      if (isOfSubmodules(fault)) return end(lostFault(fault.message))
      refused = { at: moved, message: fault.message }
      continue
    }
    arrivals ??= arrivalsOf(commit, moved)
    if (merges === MERGES_MAX) return end({ land_blocked: 'trunk_moved_repeatedly' })
    merges += 1
    git(worktree, ['checkout', '--quiet', '--force', '--detach', head])
    sweep()
    if (!merge(worktree, moved).isMerged) return end({ land_blocked: 'trunk_moved_conflict' })
    if (await gateFault()) return end({ land_blocked: 'trunk_moved_gates_failed' })
    head = headOf(worktree)
    seen = moved
  }
}

/** What the event has no word for stands in the summary. */
function blockedBy(land_blocked, why) {
  aside += ` (${why})`
  return { land_blocked }
}

/**
 * The lease demands more than that trunk is within `head`: that it still is where it was seen, so that one that was renamed
 * meanwhile is not made anew. A submodule's commit that nobody else could check out is refused.
 */
function pushToTrunk(head, seen) {
  const ref = `refs/heads/${LAND}`
  return push(CHECKED, `--force-with-lease=${ref}:${seen}`, PUSH, `${head}:${ref}`)
}

/** Commits of trunk that the work does not have, oldest first. */
function arrivalsOf(head, moved) {
  const told = git(worktree, ['log', '--reverse', `--max-count=${ARRIVALS_MAX}`, '--format=%H %s', `${head}..${moved}`])
  return told.split('\n').map((line) => ({ commit: line.split(' ')[0], subject: line.slice(line.indexOf(' ') + 1) }))
}

/** What is wrong with the work as it stands, but for its gate; `unresolved`, `begun`: what the agent left. */
async function faultIn(head, unresolved, begun) {
  if (isContinued && !isWithin(base, headOf(worktree)))
    return { summary: 'the work that it goes on from is gone', diagnosis: `${payload.base_ref} is no longer part of it` }
  const files = [...unresolved, ...markedSince(since, head)].join(', ')
  if (files !== '')
    return { summary: `conflicts with ${LAND ?? 'others'} are left`, diagnosis: `conflicts are left in ${files}` }
  if (begun) return { summary: `a ${begun} is unfinished`, diagnosis: `the agent left a ${begun} unfinished${aside}` }
  const isDeclared = (path) => does(worktree, ['submodule', '--quiet', 'status', '--', path])
  const bare = repositoriesIn(worktree, since, head, 'AT').filter(({ path }) => !isDeclared(path))
  if (bare.length > 0) {
    mayGo &&= !isBegun
    const names = bare.map(({ path }) => path).join(', ')
    const diagnosis = `of ${names} a commit holds no more than the name; what is there stays in ${worktree}`
    return { summary: 'repositories within the repository are no submodules of it', diagnosis }
  }
  for (const { path, commit } of repositoriesIn(worktree, since, head, 'AMT')) {
    if (isPopulated(path) && !isElsewhere(path, [commit])) return lostFault(`no remote of ${path} has ${commit}`)
    // The run that made it may have had it to itself.
    const fault = isContinued && !isPopulated(path) ? await populate(path) : undefined
    if (fault) return { summary: UNPUSHED, diagnosis: fault.message }
  }
  return undefined
}

/** Has the submodule checked out; resolves to what git has against it, and leaves nothing half made. */
async function populate(path) {
  const fault = await gitOver(worktree, ['submodule', '--quiet', 'update', '--init', '--', path])
  if (fault === undefined) return undefined
  const within = join(worktree, path)
  quietly(() => rmSync(within, { recursive: true, force: true }))
  quietly(() => mkdirSync(within, { recursive: true }))
  return fault
}

const UNPUSHED = 'a submodule is at a commit that was not pushed'

/** Only in the worktree is there a commit of a submodule that the work names. */
function lostFault(why) {
  mayGo &&= !isBegun
  return { verdict: 'defect', summary: UNPUSHED, diagnosis: `${why}; what is there stays in ${worktree}` }
}

/** Git has kept the rest. */
function unaddedFault({ message }) {
  return { summary: 'git does not keep all of it', diagnosis: `${message}; what is there stays in ${worktree}` }
}

/** What the gate says against the work as it stands; undefined: nothing. */
async function gateFault() {
  if (!GATE) return undefined
  const { code, ...said } = await run(GATE, { cwd: worktree })
  await regain()
  if (code === 0) return undefined
  return { summary: `the gate does not pass: ${GATE}`, diagnosis: outputOf(said, TAIL) }
}

/** What became of the work of an agent that has done its part: members of `task_run_completed`. */
async function verdictOf(head, unpushed, text, fault) {
  if (isStopped) return {}
  const question = questionIn(endOf(text, ANSWER_TAIL))
  if (question) return { verdict: 'blocked_on_decision', summary: question.finding, ...question }
  const against = fault ?? (mayChange ? await gateFault() : undefined)
  if (against) return { verdict: 'defect', ...against }
  const summary = endOf(text) || (head ? 'changed without a word' : 'nothing was changed')
  if (!head) return { verdict: 'complete', success: true, summary }
  const complete = { verdict: 'complete', summary }
  if (!isLanding) return { ...complete, land_blocked: 'checkout_not_ready' }
  if (unpushed) return { ...complete, ...blockedBy('git_failed', unpushed.message) }
  const { head: last, ...outcome } = await land(head)
  const { landed = false } = outcome
  return { ...complete, success: landed, ...outcome, ...(landed && { preservation_ref: last }) }
}

/** The same of one that has not; `changed`: what it did before. */
function failedBy({ isThere, how, text, complaint }, changed) {
  const said = { verdict: 'runner_error', summary: how, detail: `${how}: ${endOf(text) || complaint}` }
  if (isThere || changed) return said
  return { ...said, failure_class: NOT_THERE.class, failure_code: NOT_THERE.code }
}

/** Of work that is no item's, whose run has to tell that it did not come off; and of an agent that is not there. */
function failureOf({ verdict, summary, diagnosis, detail, failure_code, land_blocked }) {
  if (failure_code === NOT_THERE.code) return { ...NOT_THERE, message: endOf(detail) }
  const code = verdict === 'complete' ? isLanding && land_blocked : verdict
  if (payload.item_id !== undefined || !code || verdict === 'runner_error') return undefined
  const message = endOf([summary, diagnosis, kept && `what was done is in ${kept}`].filter(Boolean).join('\n'))
  return { class: 'semantic', code, message }
}

/** What came of the task; `from`: where it began. */
function tellResult(from, outcome) {
  tell('task_run_completed', {
    project: project.key,
    success: false,
    landed: false,
    ...(kept && { preservation_ref: kept }),
    ...outcome,
    summary: `${outcome.summary}${aside}`,
    workspace_base: { commit: from, trunk: trunk ?? from },
    ...(payload.campaign !== undefined && { campaign: payload.campaign, campaign_cycle: payload.campaign_cycle }),
  })
}

/** Git does not go on. What was done stays where it is, and whoever asked is told where that is. */
function giveUp({ message }) {
  if (isStopped) return console.error(message)
  const left = mayGo ? kept : worktree
  const isThere = mayGo || existsSync(worktree)
  const where = isThere ? left && `what was done is in ${left}` : `${worktree} is gone`
  const detail = [message, where].filter(Boolean).join('; ')
  const failure = { class: isBegun ? 'execution' : 'dispatch', code: 'git_failed', message: detail }
  const told = { failure_class: failure.class, failure_code: failure.code }
  if (!isStep) tellResult(base, { verdict: 'runner_error', summary: detail, detail, ...told, ...(!mayGo && { worktree }) })
  return conclude({ failure })
}

/** Does the task, and tells what came of it. */
async function taskIn(worktree) {
  const { conflicts } = isContinued && isLanding && mayChange ? merge(worktree, trunk) : { conflicts: new Map() }
  const from = headOf(worktree)
  const isWhole = isContinued && mayChange && conflicts.size === 0
  const said = isWhole ? ((await faultIn(from, [])) ?? (await gateFault())) : undefined
  if (isWhole) sweep()
  if (isStopped) return false
  mayGo = !mayChange
  isBegun = true
  const agent = await agentIn(worktree, `${promptOf()}${continuedPrompt([...conflicts.keys()], said)}`)
  // It may have been told to nobody.
  await new Promise((heard) => setImmediate(heard))
  let [made, head, fault, unadded] = []
  if (mayChange) {
    await regain()
    const isStashed = isUnstashed(worktree, from)
    const [unresolved, begun] = [unresolvedIn(worktree, conflicts), isStashed ? 'stash' : begunIn()]
    // Committed as no merge, so that whoever goes on from it has the conflicts again.
    if (unresolved.length > 0) git(worktree, ['merge', '--quit'])
    unadded = addIn(worktree)
    made = commit(worktree, from)
    if (unadded && !made) throw unadded
    unadded ??= unheldIn(worktree)
    mayGo = !unadded && !allRepositoriesIn(worktree).some((path) => isOnlyHere(path, from))
    fault = unadded ? unaddedFault(unadded) : await faultIn(made ?? from, unresolved, begun)
    // What it goes on from is to land also where nothing had to be done about it.
    head = made ?? (isContinued ? from : undefined)
    if (!made && isContinued) git(worktree, ['update-ref', `refs/heads/${branch}`, from])
  }
  let unpushed = head && PUSH && (await push(CHECKED, PUSH, `${head}:refs/heads/${branch}`))
  if (unpushed && isOfSubmodules(unpushed)) {
    fault ??= lostFault(unpushed.message)
    unpushed = await push('--recurse-submodules=no', PUSH, `${head}:refs/heads/${branch}`)
  }
  kept = head && (PUSH && !unpushed ? `${PUSH}/${branch}` : branch)
  const outcome = agent.isDone ? await verdictOf(head, unpushed, agent.text, fault) : failedBy(agent, made ?? unadded)
  const isTold = !isStopped || outcome.landed
  const failure = isTold ? failureOf(outcome) : undefined
  if (isTold) tellResult(from, outcome)
  if (failure) conclude({ failure })
  // What has landed is on trunk.
  if (outcome.landed) await push(PUSH, `:refs/heads/${branch}`)
  return agent.isDone && !isStopped && failure === undefined
}

try {
  process.exitCode = (await (isStep ? decideIn(worktree) : taskIn(worktree))) ? 0 : 1
} catch (error) {
  // What the agent has committed by itself.
  const made = isBegun && !isStep ? commitOf(`refs/heads/${branch}`) : undefined
  if (made && !isWithin(made, base)) kept ??= branch
  if (!isOutside(error)) throw error
  giveUp(error)
  process.exitCode = 1
} finally {
  if (mayGo || !existsSync(worktree)) await takeDown(kept !== branch)
  else console.error(`what was done is in ${worktree}`)
}

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
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } = fs

const { REPOSITORY, AGENT, GATE, PUSH, LAND } = process.env
const { INTENDANT_BRIEF_FILE: briefFile, INTENDANT_PROMPTS_DIR: prompts } = process.env
const { TRANSCRIPTS = join(tmpdir(), `intendant-transcripts-${userInfo().uid}`) } = process.env
/** How much of what a command printed last is quoted, characters. */
const TAIL = 4_000
const GATE_TAIL = 1_000
/** Where in an answer a decision is looked for. */
const ANSWER_TAIL = 64_000
/** How long the output of a command that has ended may still come. */
const OUTPUT_MS = 2_000
const SIGNAL_MS = 250
/** How long what runs may go on after a stop. The runner waits for longer (`--stop-grace`): the work is committed then. */
const STOP_MS = 5_000
/** How long another run may have its turn: a fetch over a line that hangs. */
const TURN_MS = 10 * 60_000
const LOOK_MS = 50
/** How long what a command left running in the background may still hold a lock of the worktree. */
const LOCK_MS = 1_000
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
/** In the words of whoever asked for it, or of the brief that the run follows. */
const task = String(payload.objective ?? (briefFile ? objectiveOf(briefFile) : '')).trim()

const say = (line) => console.log(JSON.stringify(line))
const tell = (event_type, said) => say({ event_type, payload: said })
const now = () => new Date().toISOString()
const endOf = (text, chars = TAIL) => text.slice(-chars).toWellFormed()

/** Git does not do what it was to do; in a line. */
class GitFailed extends Error {}

/** Git or the machine is at fault, and not what is written here. */
const isOutside = (error) => error instanceof GitFailed || error.syscall !== undefined

/** What git prints. In a group of its own, so that a stop does not cut it off in the middle. Throws GitFailed. */
function git(cwd, args, input = '') {
  const options = { input, encoding: 'utf8', maxBuffer: GIT_OUTPUT_MAX, detached: true }
  const { status, signal, stdout, stderr, error } = spawnSync('git', ['-C', cwd, ...args], options)
  if (stderr) process.stderr.write(stderr)
  if (error) throw error
  if (status === 0) return stdout.trim()
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  throw new GitFailed(lines.find((line) => /^(fatal|error): /.test(line)) ?? lines[0] ?? `git ended with ${status ?? signal}`)
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
    while (!isTaken(lock)) await pause(LOOK_MS)
  } catch (error) {
    // Who may not write there is told so by git, too.
    console.error(error.message)
  }
  try {
    return act()
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
  if (transcript) log.on('error', (error) => console.error(`no transcript: ${error.message}`))
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

/** Pushes; resolves to whether the remote has it. In a group of its own, too, but a stop is heard meanwhile. */
function push(refspec) {
  const args = ['-C', worktree, 'push', '--quiet', PUSH, refspec]
  const child = spawn('git', args, { stdio: ['ignore', 2, 2], detached: true })
  endIt = () => quietly(() => process.kill(-child.pid, 'SIGTERM'))
  return new Promise((end) => {
    child.on('exit', (code) => {
      endIt = undefined
      end(code === 0)
    })
    child.on('error', () => end(false))
  })
}

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
    agent_type: AGENT.split(' ')[0],
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
    ...(isThere ? code !== null && { exit_code: code } : { error: `${AGENT} could not be run` }),
    ...(cost !== undefined && { cost: { USD: cost, basis: 'as the agent says' } }),
  })
  const how = code === null ? 'was stopped' : `ended with exit code ${code}`
  return { isDone: code === 0, isThere, text, how: `the agent ${how}`, complaint: endOf(complained) }
}

/** Each gate of a campaign as it stands on trunk. A file that it should have left and did not makes it red. */
async function gatesIn(worktree) {
  const results = []
  for (const { name, command, required, artifacts = [] } of payload.gates ?? []) {
    if (isStopped) break
    const { code, printed, complained } = await run(command, { cwd: worktree })
    const missing = artifacts.filter((path) => !existsSync(join(worktree, path))).map((path) => `${path} is not there`)
    const output = endOf([printed, complained, ...missing].filter((text) => text !== '').join('\n'), GATE_TAIL)
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

/** The agent's advice. One that decides nothing is told as it is: the service hands that to its owner. */
async function decideIn(worktree) {
  const gate_results = await gatesIn(worktree)
  if (isStopped) return false
  const prompt = stepPrompt(gate_results)
  const { isDone, isThere, text, how, complaint } = await agentIn(worktree, prompt)
  if (isStopped) return false
  const message = endOf(`${how}: ${text || complaint}`)
  const code = isThere ? 'agent_failed' : 'provider_unavailable'
  const decision = decisionIn(endOf(text, ANSWER_TAIL))
  const advice = { decision, gate_results, agent_provider: AGENT.split(' ')[0], prompt }
  if (!isDone) conclude({ failure: { class: 'execution', code, message } })
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

/** Commits what was added to the branch of this run. Returns its newest commit; undefined: it holds nothing that is new. */
function commit(worktree, from) {
  const isMerge = does(worktree, ['rev-parse', '--quiet', '--verify', 'MERGE_HEAD'])
  if (isMerge || !does(worktree, ['diff', '--cached', '--quiet'])) {
    const message = `${task.split('\n')[0].slice(0, 72)}\n\nIntendant-Request: ${id}\n`
    git(worktree, [...committer(), 'commit', '--quiet', '--no-verify', '--file=-'], message)
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

/** Paths of repositories within the worktree, which a commit only names; `changes` as `--diff-filter` has them. */
function repositoriesIn(worktree, since, head, changes) {
  const lines = git(worktree, ['diff', '--raw', '--no-renames', `--diff-filter=${changes}`, since, head]).split('\n')
  return lines.filter((line) => /^:\d+ 160000 /.test(line)).map((line) => line.split('\t')[1])
}

/** Fetches. A clone of one branch (`--single-branch`, `--depth 1`) does not by itself fetch others that are named. */
async function fetchFrom(...names) {
  const fetch = (...refs) => does(REPOSITORY, ['fetch', '--quiet', PUSH, ...refs])
  await inTurn(() => {
    fetch()
    if (does(REPOSITORY, ['config', '--get', `remote.${PUSH}.fetch`, 'refs/heads/[*]:'])) return
    for (const name of names) fetch(`+refs/heads/${name}:refs/remotes/${PUSH}/${name}`)
  })
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
  const isMerged = does(worktree, [...committer(), 'merge', '--quiet', '--no-verify', ...said, commit])
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
if (PUSH) await fetchFrom(...new Set([LAND, wanted].filter(Boolean)))
const trunk = trunkHere()
const base = named === undefined ? trunk : ((PUSH && commitOf(`${PUSH}/${named}`)) ?? commitOf(named))
if (base === undefined) refuse('unknown_base', `${REPOSITORY} has no commit ${named ?? (isLanding ? `${PUSH}/${LAND}` : 'HEAD')}`)
// Of a shallow clone, where they come together is not here.
if (PUSH && trunk && !does(REPOSITORY, ['merge-base', base, trunk]))
  await inTurn(() => does(REPOSITORY, ['fetch', '--quiet', '--unshallow', PUSH]))
needed(() => mkdirSync(TRANSCRIPTS, { recursive: true, mode: 0o700 }))

let isStopped = false
/** Ends what runs now. */
let endIt
// The agent hears it, too; what it leaves is still kept, also where it does not heed it.
process.on('SIGTERM', () => {
  isStopped = true
  setTimeout(() => endIt?.(), STOP_MS).unref()
})
// Nobody hears any more what became of it.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', () => {
    isStopped = true
  })
const folder = needed(() => mkdtempSync(join(tmpdir(), 'intendant-')))
const worktree = join(folder, 'work')
const as = isStep ? ['--detach'] : ['-b', branch]
const add = ['worktree', 'add', '--quiet', '--no-checkout', ...as, worktree, base]
// Who looks at all worktrees of a clone fails at one that is half made. Files take longer, and are nobody else's.
const isAdded = await inTurn(() => does(REPOSITORY, add))
if (!isAdded || !does(worktree, ['checkout', '--quiet', '--force'])) {
  if (isAdded) await takeDown(true)
  else rmSync(folder, { recursive: true })
  refuse('no_worktree', `${REPOSITORY} gives no worktree for ${branch}`)
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
  let [head, arrivals] = [commit]
  const end = (said) => ({ head, ...(arrivals && { trunk_arrivals: arrivals }), ...said })
  // What began at a branch of somebody's is brought to trunk by whoever knows what for.
  if (!isContinued && !(trunk !== undefined && isWithin(base, trunk))) return end({ land_blocked: 'checkout_not_ready' })
  for (let merges = 0; ; merges += 1) {
    if (isStopped || process.ppid !== parent) return end({})
    if (await push(`${head}:refs/heads/${LAND}`)) return end({ landed: true })
    if (isStopped) {
      console.error(`stopped in the push to ${LAND}, which may have taken it: ${head}`)
      return end({})
    }
    await fetchFrom(LAND)
    const moved = trunkHere()
    // The remote has taken it, and its word for that was lost.
    if (moved !== undefined && isWithin(head, moved)) return end({ landed: true })
    if (moved === undefined || isWithin(moved, head)) return end({ land_blocked: 'git_failed' })
    arrivals ??= arrivalsOf(commit, moved)
    if (merges === MERGES_MAX) return end({ land_blocked: 'trunk_moved_repeatedly' })
    git(worktree, ['checkout', '--quiet', '--force', '--detach', head])
    sweep()
    if (!merge(worktree, moved).isMerged) return end({ land_blocked: 'trunk_moved_conflict' })
    if (await gateFault()) return end({ land_blocked: 'trunk_moved_gates_failed' })
    head = headOf(worktree)
  }
}

/** Commits of trunk that the work does not have, oldest first. */
function arrivalsOf(head, moved) {
  const told = git(worktree, ['log', '--reverse', `--max-count=${ARRIVALS_MAX}`, '--format=%H %s', `${head}..${moved}`])
  return told.split('\n').map((line) => ({ commit: line.split(' ')[0], subject: line.slice(line.indexOf(' ') + 1) }))
}

/** What is wrong with the work as it stands, but for its gate; `unresolved`, `begun`: what the agent left. */
function faultIn(head, unresolved, begun) {
  if (isContinued && !isWithin(base, headOf(worktree)))
    return { summary: 'the work that it goes on from is gone', diagnosis: `${payload.base_ref} is no longer part of it` }
  const files = [...unresolved, ...markedSince(since, head)].join(', ')
  if (files !== '')
    return { summary: `conflicts with ${LAND ?? 'others'} are left`, diagnosis: `conflicts are left in ${files}` }
  if (begun) return { summary: `a ${begun} is unfinished`, diagnosis: `the agent left a ${begun} unfinished${aside}` }
  const isDeclared = (path) => does(worktree, ['submodule', '--quiet', 'status', '--', path])
  const bare = repositoriesIn(worktree, since, head, 'AT').filter((path) => !isDeclared(path))
  if (bare.length === 0) return undefined
  const diagnosis = `of ${bare.join(', ')} a commit holds no more than the name; what is there stays in ${worktree}`
  return { summary: 'repositories within the repository are no submodules of it', diagnosis }
}

/** Git has kept the rest. */
function unaddedFault({ message }) {
  return { summary: 'git does not keep all of it', diagnosis: `${message}; what is there stays in ${worktree}` }
}

/** What the gate says against the work as it stands; undefined: nothing. */
async function gateFault() {
  if (!GATE) return undefined
  const { code, printed, complained } = await run(GATE, { cwd: worktree })
  await regain()
  if (code === 0) return undefined
  return { summary: `the gate does not pass: ${GATE}`, diagnosis: endOf(`${printed}\n${complained}`.trim()) }
}

/** What became of the work of an agent that has done its part: members of `task_run_completed`. */
async function verdictOf(head, isPushed, text, fault) {
  if (isStopped) return {}
  const question = questionIn(endOf(text, ANSWER_TAIL))
  if (question) return { verdict: 'blocked_on_decision', summary: question.finding, ...question }
  const against = fault ?? (mayChange ? await gateFault() : undefined)
  if (against) return { verdict: 'defect', ...against }
  const summary = endOf(text) || (head ? 'changed without a word' : 'nothing was changed')
  if (!head) return { verdict: 'complete', success: true, summary }
  if (!isPushed || !isLanding) return { verdict: 'complete', summary, land_blocked: 'checkout_not_ready' }
  const { head: last, ...outcome } = await land(head)
  const { landed = false } = outcome
  return { verdict: 'complete', success: landed, summary, ...outcome, ...(landed && { preservation_ref: last }) }
}

/** The same of an agent that has not done its part. */
function errorOf({ isThere, how, text, complaint }) {
  const said = { verdict: 'runner_error', summary: how, detail: `${how}: ${endOf(text) || complaint}` }
  return isThere ? said : { ...said, failure_class: 'execution', failure_code: 'provider_unavailable' }
}

/** What its run fails with: where its agent was not there, and of work that is no item's where it did not come off. */
function failureOf({ verdict, summary, diagnosis, land_blocked, failure_class, failure_code, detail }) {
  if (failure_code !== undefined) return { class: failure_class, code: failure_code, message: detail }
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
  const said = isWhole ? (faultIn(from, []) ?? (await gateFault())) : undefined
  if (isWhole) sweep()
  if (isStopped) return false
  mayGo = !mayChange
  isBegun = true
  const agent = await agentIn(worktree, `${promptOf()}${continuedPrompt([...conflicts.keys()], said)}`)
  // It may have been told to nobody.
  await new Promise((heard) => setImmediate(heard))
  let [head, fault, unadded] = []
  if (mayChange) {
    await regain()
    const isStashed = isUnstashed(worktree, from)
    const [unresolved, begun] = [unresolvedIn(worktree, conflicts), isStashed ? 'stash' : begunIn()]
    // Committed as no merge, so that whoever goes on from it has the conflicts again.
    if (unresolved.length > 0) git(worktree, ['merge', '--quit'])
    unadded = addIn(worktree)
    const made = commit(worktree, from)
    if (unadded && !made) throw unadded
    fault = unadded ? unaddedFault(unadded) : faultIn(made ?? from, unresolved, begun)
    // What it goes on from is to land also where nothing had to be done about it.
    head = made ?? (isContinued ? from : undefined)
    if (!made && isContinued) git(worktree, ['update-ref', `refs/heads/${branch}`, from])
  }
  mayGo = !unadded && (head === undefined || repositoriesIn(worktree, from, head, 'AMT').length === 0)
  const isPushed = head && PUSH && (await push(`${head}:refs/heads/${branch}`))
  kept = head && (isPushed ? `${PUSH}/${branch}` : branch)
  const outcome = agent.isDone ? await verdictOf(head, isPushed, agent.text, fault) : errorOf(agent)
  const isTold = !isStopped || outcome.landed
  const failure = isTold ? failureOf(outcome) : undefined
  if (isTold) tellResult(from, outcome)
  if (failure) conclude({ failure })
  // What has landed is on trunk.
  if (outcome.landed) await push(`:refs/heads/${branch}`)
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

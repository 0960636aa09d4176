/**
 * Agents land work on trunk while runners, their commands and the service are killed: everything that was acknowledged
 * as landed is on trunk, once, nothing that an agent made is lost, and nothing is left over.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { BINARY } from '../binary.ts'
import { locksIn } from '../locks-in.ts'
import { Random } from '../random.ts'
import { ask, type Heard } from './client.ts'
import { ServiceProcess } from './service-process.ts'

interface LandingsOptions {
  readonly kills: number
  readonly seed: number
  /** An empty folder for everything: the service's home, repositories, clones. */
  readonly folder: string
  readonly say: (line: string) => void
}

interface LandingsReport {
  readonly faults: readonly string[]
  readonly landed: number
  /** How many items settled in which state, by what their agent did. */
  readonly settled: Readonly<Record<string, number>>
}

/** Projects, and how many runs may change each at a time. */
const WRITERS = { one: 1, two: 2, four: 4 } as const
type Project = keyof typeof WRITERS
const PROJECTS = Object.keys(WRITERS) as Project[]
/** Runners, and the clone that each uses: two share one, the third is as if on another machine. */
const CLONES = { r1: 'a', r2: 'a', r3: 'b' } as const
type RunnerId = keyof typeof CLONES
const RUNNERS = Object.keys(CLONES) as RunnerId[]
const CAPACITY = '2'
const TASKS_PER_KILL = 2
/** From one kill to the next, milliseconds. */
const PAUSE_MS = 2_000
/** How long everything may take to settle after the last kill, and to leave, milliseconds. */
const CALM_MS = 120_000
/** How often a request is made that the service cannot carry out just then. */
const TRIES_MAX = 30
const WHO = '-c user.name=a -c user.email=a@b'
const OPEN: ReadonlySet<string> = new Set(['submitted', 'queued', 'running'])

/** What agents do, as shell words. `$F` is the file of the task alone. */
const DEEDS = {
  edits: 'echo $NAME > $F; made',
  commits: `echo $NAME > $F; git add $F; git ${WHO} commit --quiet -m $NAME; made`,
  branches: `git checkout --quiet -b other-$NAME; echo $NAME > $F; git add $F; git ${WHO} commit --quiet -m $NAME; made`,
  conflicts: 'echo $NAME > $F; echo $NAME > shared; made; sleep 1',
  fails: 'echo $NAME > $F; made; exit 3',
  naps: 'echo $NAME > $F; made; sleep 8',
  shouts: 'echo $NAME > $F; made; head -c 2000000 /dev/zero | tr "\\0" x; head -c 2000000 /dev/urandom >&2',
  leaves: 'echo $NAME > $F; made; sleep 5 & true',
  locks: 'echo $NAME > $F; made; touch "$(git rev-parse --git-dir)/index.lock"',
  // What it made is gone with it.
  destroys: 'echo $NAME > $F; rm -rf "$PWD"',
} as const
type Deed = keyof typeof DEEDS
const ALL_DEEDS = [...(Object.keys(DEEDS) as Deed[]), 'edits', 'edits', 'edits', 'commits', 'conflicts'] as Deed[]

interface Task {
  readonly name: string
  readonly project: Project
  readonly deed: Deed
}

export async function landAgainAndAgain(options: LandingsOptions): Promise<LandingsReport> {
  const storm = new Landings(options)
  try {
    return await storm.whole()
  } finally {
    await storm.end()
  }
}

class Landings {
  readonly #options: LandingsOptions
  readonly #random: Random
  readonly #service: ServiceProcess
  readonly #env: NodeJS.ProcessEnv
  readonly #runners = new Map<RunnerId, ChildProcess>()
  readonly #tasks = new Map<string, Task>()
  readonly #faults: string[] = []

  constructor(options: LandingsOptions) {
    const { folder, seed } = options
    this.#options = options
    this.#random = new Random(seed)
    for (const name of ['home', 'tmp', 'made', 'settings']) mkdirSync(join(folder, name))
    this.#service = new ServiceProcess(join(folder, 'home'))
    this.#env = {
      PATH: process.env.PATH,
      HOME: join(folder, 'settings'),
      TMPDIR: join(folder, 'tmp'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CEILING_DIRECTORIES: folder,
    }
  }

  async whole(): Promise<LandingsReport> {
    const { kills, say } = this.#options
    this.#scripts()
    for (const project of PROJECTS) this.#repository(project)
    await this.#serve()
    await this.#enrol()
    for (const id of RUNNERS) this.#hire(id)
    for (let n = 0; n < kills * TASKS_PER_KILL; n++) await this.#submit(n)
    for (let n = 0; n < kills; n++) {
      await pause(PAUSE_MS)
      say(`kill ${n + 1}: ${await this.#kill()}`)
      await this.#requeueLost()
    }
    const items = await this.#settled()
    await this.#gone()
    this.#sweep()
    return this.#judge(items)
  }

  async end(): Promise<void> {
    for (const child of this.#runners.values()) child.kill('SIGKILL')
    await this.#service.kill()
    for (const pid of this.#processes()) kill(pid)
  }

  #git(folder: string, ...args: string[]): string {
    const how = { encoding: 'utf8', env: this.#env, stdio: 'pipe' } as const
    return execFileSync('git', ['-C', folder, ...args], how).trim()
  }

  #path(name: string): string {
    return join(this.#options.folder, name)
  }

  #scripts(): void {
    const { folder } = this.#options
    const deeds = Object.entries(DEEDS).map(([deed, words]) => `${deed}) ${words};;`)
    const agent = `read NAME DEED; cat > /dev/null; F=f-$NAME\nmade() { touch ${folder}/made/$NAME; }\ncase $DEED in\n`
    const script = (name: string, text: string): void =>
      writeFileSync(this.#path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
    script('agent', `${agent}${deeds.join('\n')}\nesac`)
    // Fails once in ten times.
    script('gate', 'sleep 1; test $(od -An -N1 -tu1 /dev/urandom) -ge 26')
    const settings = `AGENT=${folder}/agent GATE=${folder}/gate PUSH=origin LAND=main`
    const repository = `REPOSITORY=${folder}/$INTENDANT_PROJECT-$CLONE`
    script('command', `export ${settings} ${repository}\nexec '${process.execPath}' '${BINARY}' agent`)
  }

  #repository(project: Project): void {
    const { folder } = this.#options
    const bare = this.#path(`${project}.git`)
    this.#git(folder, 'init', '--quiet', '--bare', '--initial-branch=main', bare)
    this.#git(folder, 'clone', '--quiet', bare, `${project}-a`)
    const first = this.#path(`${project}-a`)
    writeFileSync(join(first, 'shared'), 'begin\n')
    this.#git(first, 'add', '--all')
    this.#git(first, ...WHO.split(' '), 'commit', '--quiet', '-m', 'begin')
    this.#git(first, 'push', '--quiet', 'origin', 'HEAD:main')
    this.#git(folder, 'clone', '--quiet', bare, `${project}-b`)
  }

  #serve(): Promise<void> {
    return this.#service.start()
  }

  async #ask(method: string, path: string, body?: object, key?: string): Promise<any> {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const url = `${this.#service.url}${path}`
    const what = { method, url, token: this.#service.adminToken, headers, ...(body === undefined ? {} : { body }) }
    for (let tries = 1; ; tries++) {
      const { status, body: said } = await ask(what).catch(unanswered)
      // A machine with other load may be slow for a while. All that is asked here may be repeated.
      if (status === 503 && tries < TRIES_MAX) await pause(1_000)
      else if (status < 300 || status === 409) return said
      else throw new Error(`${method} ${path}: ${status} ${JSON.stringify(said)}`)
    }
  }

  async #enrol(): Promise<void> {
    for (const key of PROJECTS) await this.#ask('POST', '/api/projects', { key, name: key, max_writers: WRITERS[key] })
    for (const id of RUNNERS) {
      const projects = PROJECTS.flatMap((project) => ['--project', project])
      const options = ['--capacity', CAPACITY, '--trusted', '--save-token']
      execFileSync(process.execPath, [BINARY, 'runner', 'add', id, ...projects, ...options], { env: this.#world() })
    }
  }

  #world(): NodeJS.ProcessEnv {
    return { ...this.#env, ENGINE_HOME: this.#service.home, ENGINE_URL: this.#service.url }
  }

  #hire(id: RunnerId): void {
    const args = [BINARY, 'runner', '--id', id, '--exec', this.#path('command')]
    const env = { ...this.#world(), CLONE: CLONES[id] }
    this.#runners.set(id, spawn(process.execPath, args, { env, stdio: 'ignore' }))
  }

  async #submit(n: number): Promise<void> {
    const deed = this.#random.pick(ALL_DEEDS)
    const task = { name: `t${n}`, project: PROJECTS[n % PROJECTS.length]!, deed }
    const body = { project: task.project, objective: `${task.name} ${deed}` }
    const said = await this.#ask('POST', '/api/work-items', body, task.name)
    this.#tasks.set(said.id, task)
  }

  /** Kills something, and has it start again. Resolves to what it was. */
  async #kill(): Promise<string> {
    const dice = this.#random.below(4)
    const id = this.#random.pick(RUNNERS)
    if (dice === 0) {
      await this.#service.kill()
      await this.#serve()
      return 'the service'
    }
    if (dice === 1) {
      const commands = this.#processes().filter((pid) => / agent $/.test(commandOf(pid)))
      if (commands.length > 0) kill(this.#random.pick(commands))
      return `one of ${commands.length} commands`
    }
    const runner = this.#runners.get(id)!
    const isAsked = dice === 2
    runner.kill(isAsked ? 'SIGTERM' : 'SIGKILL')
    if (isAsked) {
      // A second signal counts only if it comes a second later.
      await pause(1_100)
      runner.kill('SIGTERM')
    }
    if (runner.exitCode === null && runner.signalCode === null) await new Promise((gone) => runner.once('exit', gone))
    this.#hire(id)
    return isAsked ? `${id}, asked twice to end` : id
  }

  /** As an operator would: whoever had it is gone. */
  async #requeueLost(): Promise<void> {
    const { items } = await this.#ask('GET', '/api/run-requests?state=lost&limit=100')
    for (const { id } of items) await this.#ask('POST', `/api/run-requests/${id}/requeue`, {})
  }

  /** Every item by its id, once all are settled. */
  async #settled(): Promise<Map<string, any>> {
    const endMs = performance.now() + CALM_MS
    for (;;) {
      await this.#requeueLost()
      const read = [...this.#tasks.keys()].map((id) => this.#ask('GET', `/api/work-items/${id}`))
      const items = await Promise.all(read)
      const open = items.filter(({ state }) => OPEN.has(state))
      if (open.length === 0) return new Map(items.map((item) => [item.id, item]))
      if (performance.now() > endMs) throw new Error(`it never settled: ${JSON.stringify(open[0])}`)
      await pause(500)
    }
  }

  /** Waits until no process of a run is left, also of those whose runner was killed. */
  async #gone(): Promise<void> {
    const known = new Set([this.#service.pid, ...[...this.#runners.values()].map(({ pid }) => pid)])
    const endMs = performance.now() + CALM_MS
    for (;;) {
      const left = this.#processes().filter((pid) => !known.has(pid))
      if (left.length === 0) return
      if (performance.now() > endMs) return this.#fault(`processes are left: ${left.map(commandOf).join('; ')}`)
      await pause(200)
    }
  }

  /** Those that were started here, by a folder of theirs that no other process has. */
  #processes(): number[] {
    const mark = `TMPDIR=${this.#env.TMPDIR}\0`
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && textOf(`/proc/${pid}/environ`).includes(mark) && commandOf(pid) !== '')
  }

  /** A last run in each clone, which clears away what killed ones have left, and lands past their locks. */
  #sweep(): void {
    for (const project of PROJECTS)
      for (const clone of new Set(Object.values(CLONES))) {
        const engine = { entry_event: 'execution_requested', throttle: 'full', access: 'full' }
        const request = {
          ...{ schema_version: 'intendant.execution_request.v1', request_id: `runreq_${clone}`, attempt: 1 },
          project: { id: 'proj_1', key: project },
          engine: { ...engine, payload: { item_id: 'wi_1', objective: 'Look' } },
        }
        const settings = {
          REPOSITORY: this.#path(`${project}-${clone}`),
          AGENT: `cat > last-${clone}`,
          PUSH: 'origin',
          LAND: 'main',
        }
        const env = { ...this.#env, ...settings }
        spawnSync(process.execPath, [BINARY, 'agent'], { env, input: JSON.stringify(request) })
      }
  }

  #fault(what: string): void {
    this.#faults.push(what)
  }

  #judge(items: ReadonlyMap<string, any>): LandingsReport {
    const settled: Record<string, number> = {}
    let landed = 0
    for (const [id, task] of this.#tasks) {
      const item = items.get(id)
      const key = `${task.deed} ${item.state}`
      settled[key] = (settled[key] ?? 0) + 1
      if (item.disposition?.landed_commit !== undefined) landed += 1
      this.#judgeItem(task, item)
    }
    for (const project of PROJECTS) this.#judgeRepositories(project)
    return { faults: this.#faults, landed, settled }
  }

  #judgeItem({ name, project, deed }: Task, { state, reason, disposition = {} }: any): void {
    const fault = (what: string): void => this.#fault(`${name} (${deed}, ${project}, ${state}: ${reason}): ${what}`)
    const bare = this.#path(`${project}.git`)
    const all = [bare, ...Object.values(CLONES).map((clone) => this.#path(`${project}-${clone}`))]
    const file = `f-${name}`
    const { landed_commit, preservation_ref } = disposition
    const added = this.#git(bare, 'log', '--format=%H', '--diff-filter=A', 'main', '--', file)
      .split('\n')
      .filter(Boolean)
    if (added.length > 1) fault(`it is on trunk ${added.length} times`)
    if (landed_commit !== undefined) {
      if (!this.#does(bare, 'merge-base', '--is-ancestor', landed_commit, 'main')) fault('its commit is not on trunk')
      if (!this.#does(bare, 'cat-file', '-e', `main:${file}`)) fault('its file is not on trunk')
    } else if (state === 'landed') fault(`it has landed nothing, and its file is on trunk ${added.length} times`)
    const isKept = (ref: string): boolean => all.some((one) => this.#does(one, 'cat-file', '-e', `${ref}:${file}`))
    if (
      preservation_ref !== undefined &&
      !isKept(preservation_ref.replace(/^origin\//, '')) &&
      !isKept(preservation_ref)
    )
      fault(`its work is not in ${preservation_ref}`)
    const isThere = all.some((one) => this.#git(one, 'log', '--all', '--format=%H', '--max-count=1', '--', file) !== '')
    if (existsSync(this.#path(`made/${name}`)) && !isThere) fault('its work is lost')
  }

  #does(folder: string, ...args: string[]): boolean {
    try {
      this.#git(folder, ...args)
      return true
    } catch {
      return false
    }
  }

  #judgeRepositories(project: Project): void {
    const bare = this.#path(`${project}.git`)
    this.#git(bare, 'fsck', '--strict')
    const claims = this.#git(bare, 'for-each-ref', '--format=%(refname)', 'refs/heads/intendant/landing/')
    if (claims !== '') this.#fault(`a claim is left: ${claims}`)
    for (const clone of new Set(Object.values(CLONES))) {
      const path = this.#path(`${project}-${clone}`)
      const trees = this.#git(path, 'worktree', 'list').split('\n').slice(1)
      if (trees.length > 0) this.#fault(`worktrees are left in ${project}-${clone}: ${trees.join(', ')}`)
      const locks = locksIn(path)
      if (locks.length > 0) this.#fault(`locks are left in ${project}-${clone}: ${locks.join(', ')}`)
      if (this.#git(path, 'status', '--porcelain') !== '')
        this.#fault(`the checkout of ${project}-${clone} has changed`)
    }
    const folders = readdirSync(this.#path('tmp')).filter((name) => !name.includes('transcripts'))
    if (folders.length > 0) this.#fault(`folders are left: ${folders.join(', ')}`)
  }
}

/** A connection that the service has closed, or an answer that came too late, counts as a request to ask again. */
function unanswered(error: Error): Pick<Heard, 'status' | 'body'> {
  return { status: 503, body: { title: error.message } }
}

/** It may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

/** Its arguments; empty if it has ended. */
function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

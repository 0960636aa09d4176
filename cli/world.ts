/**
 * What a command sees of the process it runs in, so that tests run commands without starting processes, and what
 * every command shares: where the service is, with which token, and how to print.
 */
import { hostname } from 'node:os'
import { type Client, createClient, isToken } from '../engine/client.ts'
import { MORE_THAN_TOKEN } from '../engine/errors.ts'
import type { Proxies } from '../engine/proxy.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'
import { CliFailure } from './exit.ts'
import { harmless, jsonText, Printer } from './print.ts'
import { defaultUrl, resolveHome } from './settings.ts'
import { readTokenFile } from './token-file.ts'
import { VERSION } from './version.ts'

/** A longest name of a host; what remains of an origin is for the person's own words. */
const HOST_CHARS_MAX = 64

export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  /** It holds more than it should, until `drain` tells that its reader has taken it. As of streams of Node.js. */
  readonly writableNeedDrain?: boolean
  once?(event: 'drain', listener: () => void): unknown
}

export interface World {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: Sink
  readonly stderr: Sink
  /** From now on SIGHUP, SIGINT, SIGQUIT and SIGTERM do not end the process but call this, with how many wishes to stop there were: signals within a second are one. */
  onStopSignal(callback: (count: number) => void): void
  /** From now on the command is to end with the outcome of what it follows: no reader that goes away makes it end well. */
  owesOutcome(): void
  /**
   * From now on neither SIGTERM ends the process, for which `onStop` is called each time, nor a reader of what it prints that goes
   * away, for which `onUnheard` is. For a command whose work is to be kept whatever becomes of who asked for it.
   */
  outlive(onStop: () => void, onUnheard: () => void): void
  /** Ends the process at once: for a stop that was asked for again, or takes too long. */
  exit(code: number): void
}

/** Options that every command takes. */
export interface GlobalOptions {
  readonly url?: string
  readonly home?: string
  readonly tokenFile?: string
  readonly json?: boolean
  /** Of commands that change something. */
  readonly origin?: string
}

export interface Cli {
  readonly world: World
  readonly home: string
  readonly json: boolean
  readonly globals: GlobalOptions
  readonly print: Printer
  readonly client: Client
  /** Where the token of this client comes from: ENGINE_TOKEN, or the name of a file. */
  readonly tokenFrom: string
  /** Says on standard error what it waits for: nothing that was asked for, and no failure. */
  note(text: string): void
}

export function openCli(world: World, options: GlobalOptions): Cli {
  const home = resolveHome(options.home, world.env)
  const json = options.json ?? false
  const print = new Printer(world.stdout, world.env)
  const tokenFile = options.tokenFile ?? adminTokenPath(home)
  let client: Client | undefined
  return {
    world,
    home,
    json,
    globals: options,
    print,
    tokenFrom: tokenFrom(tokenFile, options.tokenFile !== undefined, world.env),
    note: (text) => world.stderr.write(`${json ? jsonText({ note: text }) : harmless(text)}\n`),
    get client() {
      client ??= createClient({
        url: serviceUrl(options, world.env, home),
        token: tokenSource(tokenFile, options.tokenFile !== undefined, world.env),
        userAgent: `intendant-cli/${VERSION}`,
        origin: originOf(options.origin),
        proxies: proxiesIn(world.env),
      })
      return client
    },
  }
}

/** This machine's name, and what the person added: where a change comes from. */
export function originOf(text: string | undefined): string {
  const host = hostName()
  return text === undefined ? host : `${host} ${text}`
}

function hostName(): string {
  try {
    return hostname().slice(0, HOST_CHARS_MAX) || 'unknown'
  } catch {
    return 'unknown'
  }
}

export function serviceUrl(options: GlobalOptions, env: NodeJS.ProcessEnv, home: string): string {
  const given = options.url ?? nonEmpty(env.ENGINE_URL)
  if (given === undefined) return defaultUrl(home, env)
  const where = options.url === undefined ? 'ENGINE_URL' : '--url'
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new CliFailure(
      `${where} is "${given}", which is not an http:// or https:// URL. Example: http://127.0.0.1:7171`,
    )
  }
  const { username, password } = new URL(given)
  // Node.js would send nothing, and say so as if nobody had answered, with the password in it.
  if (username !== '' || password !== '')
    throw new CliFailure(`${where} holds a user or a password, with which nothing is sent: take it out.`)
  return given
}

/** The proxies that the environment names, in the lower case that curl asks for first or in the upper. Throws CliFailure. */
export function proxiesIn(env: NodeJS.ProcessEnv): Proxies {
  const [http, https] = (['http_proxy', 'https_proxy'] as const).map((name) => proxyUrl(name, env))
  const no = given(env, 'no_proxy')
  return {
    ...(http === undefined ? {} : { http }),
    ...(https === undefined ? {} : { https }),
    ...(no === undefined ? {} : { no }),
  }
}

/** Its value is not told back: it may hold a password. */
function proxyUrl(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const text = given(env, name)
  if (text === undefined) return undefined
  const url = text.includes('://') ? text : `http://${text}`
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
  throw new CliFailure(
    `${name.toUpperCase()} is not an http:// or https:// URL. Example: http://proxy.example.com:3128`,
  )
}

function given(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return nonEmpty(env[name]) ?? nonEmpty(env[name.toUpperCase()])
}

/**
 * Where the token comes from: a file named on the command line, else ENGINE_TOKEN, else the default file. A file
 * is read again before each request, so that a rotated token is taken up; while it is being replaced the last one holds.
 */
export function tokenSource(file: string, named: boolean, env: NodeJS.ProcessEnv): () => string {
  const given = nonEmpty(env.ENGINE_TOKEN)
  if (!named && given !== undefined) {
    if (!isToken(given)) throw new CliFailure(`ENGINE_TOKEN ${MORE_THAN_TOKEN}.`)
    return () => given
  }
  let last: string | undefined
  return () => {
    const read = readTokenFile(file)
    last = read.token ?? last
    if (last !== undefined) return last
    const message = named
      ? `the token file ${file} ${read.fault}.`
      : `there is no token: ENGINE_TOKEN is not set, and ${file} ${read.fault}. Set one, or name a file with --token-file.`
    throw new CliFailure(message, undefined, read.cause)
  }
}

/** The same in words: ENGINE_TOKEN, which stays as it is, or the file. */
export function tokenFrom(file: string, named: boolean, env: NodeJS.ProcessEnv): string {
  return named || nonEmpty(env.ENGINE_TOKEN) === undefined ? file : 'ENGINE_TOKEN'
}

/** An empty variable is an unset one. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text
}

/** The body of a command: its operands, its own options; what it returns is the exit code (nothing: 0). */
export type Body = (cli: Cli, operands: readonly any[], options: any) => Promise<number | undefined> | Promise<void>
/** Makes a commander action of a body. */
export type Act = (body: Body) => (...args: any[]) => Promise<void>

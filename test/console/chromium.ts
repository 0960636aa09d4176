/** Chromium, driven by its DevTools protocol through a pipe: what jsdom does not have, such as layout and colours. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Test } from 'tap'
import { until } from '../until.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'chrome']

/** The browser of this machine, or the one that `CHROMIUM` names; undefined: there is none. */
export const CHROMIUM: string | undefined =
  process.env.CHROMIUM ??
  (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((file) => existsSync(file))

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

export interface View {
  readonly width: number
  readonly scheme: 'light' | 'dark'
}

/** A browser that is silent for so long has died, or hangs. */
const ANSWER_MS_MAX = 30_000

type Answer = (message: any) => void

/** A browser with one page. */
export class Browser {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Answer>()
  #session: string | undefined
  #lastId = 0
  /** Errors that scripts of the page have thrown, and what its policy has refused. */
  readonly faults: string[] = []

  private constructor(process: ChildProcess) {
    this.#process = process
    let rest = ''
    ;(process.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
      const messages = (rest + text).split('\0')
      rest = messages.pop()!
      for (const message of messages) this.#take(JSON.parse(message))
    })
  }

  /** Opens the page with the token already entered, if one is given. */
  static async open(t: Test, url: string, token?: string): Promise<Browser> {
    const flags = ['--headless', '--disable-gpu', '--no-sandbox', '--disable-dev-shm-usage', '--remote-debugging-pipe']
    const process = spawn(CHROMIUM!, [...flags, `--user-data-dir=${t.testdir()}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    })
    t.teardown(async () => {
      const ended = new Promise((resolve) => process.once('exit', resolve))
      process.kill()
      await ended
    })
    const browser = new Browser(process)
    const { targetId } = await browser.send('Target.createTarget', { url: 'about:blank' })
    browser.#session = (await browser.send('Target.attachToTarget', { targetId, flatten: true })).sessionId
    for (const domain of ['Page', 'Runtime', 'Log']) await browser.send(`${domain}.enable`)
    const keep = token === undefined ? '' : `sessionStorage.setItem('intendant.token', ${JSON.stringify(token)})`
    await browser.send('Page.addScriptToEvaluateOnNewDocument', { source: keep })
    await browser.send('Emulation.setFocusEmulationEnabled', { enabled: true })
    // The page loads nothing else; the checker is put into it from outside.
    await browser.send('Page.setBypassCSP', { enabled: true })
    await browser.send('Page.navigate', { url })
    await browser.shows('Intendant')
    return browser
  }

  /** Calls a method of the protocol. */
  async send(method: string, params: object = {}): Promise<any> {
    const id = ++this.#lastId
    const session = this.#session === undefined ? {} : { sessionId: this.#session }
    const answer = new Promise<any>((resolve) => this.#waiting.set(id, resolve))
    ;(this.#process.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`)
    const silence = setTimeout(() => this.#waiting.get(id)?.({ error: { message: 'no answer' } }), ANSWER_MS_MAX)
    const { error, result } = await answer
    clearTimeout(silence)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  /** The value of an expression in the page; promises are awaited. */
  async value(expression: string): Promise<any> {
    const { result, exceptionDetails: thrown } = await this.send('Runtime.evaluate', {
      ...{ expression, returnByValue: true, awaitPromise: true },
    })
    if (thrown !== undefined) throw new Error(thrown.exception?.description ?? thrown.text)
    return result.value
  }

  async is(expression: string): Promise<void> {
    await until(
      async () => await this.value(expression),
      (value) => value === true,
    )
  }

  async shows(text: string): Promise<void> {
    await this.is(`document.body?.innerText.includes(${JSON.stringify(text)}) ?? false`)
  }

  /** Opens a page of the console, and waits for its heading and all that it reads. */
  async go(hash: string): Promise<void> {
    await this.value(`location.hash = ${JSON.stringify(hash)}`)
    await this.is(`document.querySelector('main h1') !== null && !document.body.innerText.includes('Loading …')`)
  }

  /** Loads the page anew: what it shows afterwards is not what it showed before. */
  async reload(): Promise<void> {
    await this.value('window.isOld = true')
    await this.send('Page.reload')
    await this.is('window.isOld === undefined && document.body !== null')
  }

  async view({ width, scheme }: View): Promise<void> {
    const size = { width, height: 900, deviceScaleFactor: 1, mobile: false }
    await this.send('Emulation.setDeviceMetricsOverride', size)
    const features = [{ name: 'prefers-color-scheme', value: scheme }]
    await this.send('Emulation.setEmulatedMedia', { features })
  }

  /** Presses and releases a key, such as `Tab`. */
  async press(key: string, text?: string): Promise<void> {
    const code = { Tab: 9, Enter: 13, Escape: 27, ' ': 32 }[key]
    const event = { key, code: key === ' ' ? 'Space' : key, windowsVirtualKeyCode: code, text }
    await this.send('Input.dispatchKeyEvent', { type: text === undefined ? 'rawKeyDown' : 'keyDown', ...event })
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event, text: undefined })
  }

  /**
   * What axe-core finds against WCAG 2.2 AA, and against its own good practice: one line for each element. `isAgain`: in
   * another view of the same page, so that only colours and sizes can have become wrong.
   */
  async violations(isAgain = false): Promise<string[]> {
    const only = isAgain ? { type: 'rule', values: OF_VIEW } : { type: 'tag', values: RULES }
    if ((await this.value('typeof axe')) === 'undefined') await this.value(`${readFileSync(AXE, 'utf8')};0`)
    return await this.value(`axe.run(document, ${JSON.stringify({ runOnly: only })}).then(
      ({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(
        ({ target, any, all, none }) =>
          id + ': ' + target.join(' ') + ': ' + [...any, ...all, ...none].map(({ message }) => message).join('; '))))`)
  }

  #take({ id, method, params, ...rest }: any): void {
    if (id !== undefined) {
      this.#waiting.get(id)?.(rest)
      this.#waiting.delete(id)
    } else if (method === 'Runtime.exceptionThrown') this.faults.push(JSON.stringify(params.exceptionDetails))
    else if (method === 'Log.entryAdded' && params.entry.source === 'security') this.faults.push(params.entry.text)
  }
}

const OF_VIEW = ['color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block']
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

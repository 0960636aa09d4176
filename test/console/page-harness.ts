/** The console as it is shipped, in a simulated browser (jsdom), on a real service. */
import { JSDOM, VirtualConsole } from 'jsdom'
import type { Test } from 'tap'
import { until } from '../until.ts'

/** What is done with an answer that has been heard is done by then, milliseconds. */
const SETTLED_MS = 20

export class Page {
  readonly #window: any
  /** Errors that scripts of the page have thrown. */
  readonly faults: readonly string[]
  /** Path and query of what it has asked the service for, but its own files and the stream. */
  readonly requests: readonly string[]

  /** Everything that its streams have carried. */
  readonly frames: readonly string[]

  private constructor(window: any, faults: readonly string[], requests: readonly string[], frames: readonly string[]) {
    this.#window = window
    this.faults = faults
    this.requests = requests
    this.frames = frames
  }

  static async open(t: Test, url: string, world: World = {}): Promise<Page> {
    const faults: string[] = []
    const virtualConsole = new VirtualConsole().on('jsdomError', (error) => faults.push(String(error.stack)))
    const options = { runScripts: 'dangerously', resources: 'usable', pretendToBeVisual: true, virtualConsole }
    const requests: string[] = []
    const frames: string[] = []
    const beforeParse = (window: any): void => complete(window, requests, frames, world)
    const { window } = await JSDOM.fromURL(url, { ...options, beforeParse })
    t.teardown(() => closed(window))
    return new Page(window, faults, requests, frames)
  }

  /** Everything that can be read. */
  get text(): string {
    return this.#window.document.body.textContent.replaceAll(/\s+/g, ' ')
  }

  find(selector: string): any {
    return this.#window.document.querySelector(selector)
  }

  /** The texts of all elements with this selector. */
  texts(selector: string): string[] {
    return [...this.#window.document.querySelectorAll(selector)].map((one) => one.textContent)
  }

  /** Where the links in the page lead within it. */
  get links(): string[] {
    return [...this.#window.document.querySelectorAll('a[href]')].map((one) => one.getAttribute('href'))
  }

  /** The last element with this selector and text. */
  named(selector: string, text: string): any {
    const found = [...this.#window.document.querySelectorAll(selector)]
    return found.findLast((one) => one.textContent.trim() === text)
  }

  async shows(text: string): Promise<void> {
    await until(
      async () => this.text,
      (shown) => shown.includes(text),
    )
  }

  async showsNo(text: string): Promise<void> {
    await until(
      async () => this.text,
      (shown) => !shown.includes(text),
    )
  }

  async press(text: string, selector = 'button'): Promise<void> {
    await until(
      async () => this.named(selector, text) !== undefined,
      (isThere) => isThere,
    )
    this.named(selector, text).click()
  }

  fill(name: string, value: string): void {
    this.find(`[name=${name}]`).value = value
  }

  choose(selector: string, value: string): void {
    this.find(selector).value = value
    this.find(selector).dispatchEvent(new this.#window.Event('change', { bubbles: true }))
  }

  submit(selector = 'form'): void {
    this.find(selector).requestSubmit()
  }

  go(hash: string): void {
    this.#window.location.hash = hash
  }

  back(): void {
    this.#window.history.back()
  }

  async isTitled(title: string): Promise<void> {
    await until(
      async () => this.#window.document.title,
      (shown) => shown === title,
    )
  }

  get hash(): string {
    return this.#window.location.hash
  }

  async signIn(token: string): Promise<void> {
    await this.shows('Access token')
    this.fill('token', token)
    this.submit()
  }
}

/** What is unusual around the page. */
interface World {
  /** Whether the request to this path is never answered; the page gives it up after 0.3 seconds. */
  readonly loses?: (path: string) => boolean
  /** Changes what the service has answered at this path. */
  readonly changes?: (path: string, body: any) => unknown
  /** How far the browser's clock is ahead. */
  readonly aheadMs?: number
}

/** In a closed window whatever the page still does would throw: it renders nothing any more, and hears no answer. */
async function closed(window: any): Promise<void> {
  window.queueMicrotask = () => {}
  window.isDeaf = true
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS))
  window.close()
}

/** The answer with its whole body; never, once the page is about to be closed. */
async function heard(window: any, answering: Promise<Response>): Promise<Response> {
  try {
    const answer = await answering
    const body = answer.body === null ? null : await answer.arrayBuffer()
    if (!window.isDeaf) return new Response(body, answer)
  } catch (error) {
    if (!window.isDeaf) throw error
  }
  return await new Promise(() => {})
}

async function changed(answer: Response, path: string, changes: World['changes']): Promise<Response> {
  if (changes === undefined) return answer
  const { status, headers } = answer
  return new Response(JSON.stringify(changes(path, await answer.json())), { status, headers })
}

/** What browsers have and jsdom lacks. */
function complete(window: any, requests: string[], frames: string[], { loses, changes, aheadMs = 0 }: World): void {
  if (aheadMs !== 0) window.Date.now = () => Date.now() + aheadMs
  if (loses !== undefined) window.AbortSignal.timeout = () => AbortSignal.timeout(300)
  window.fetch = (url: URL, { signal, ...init }: RequestInit) => {
    const path = `${url.pathname}${url.search}`
    requests.push(path)
    if (loses?.(path) !== true)
      return heard(
        window,
        fetch(String(url), init).then((answer) => changed(answer, path, changes)),
      )
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  }
  const { WebSocket, HTMLDialogElement, Event } = window
  window.WebSocket = class extends WebSocket {
    constructor(url: URL, protocols: string[]) {
      super(url, protocols)
      super.addEventListener('message', ({ data }: { data: string }) => frames.push(data))
    }
  }
  HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true
  }
  HTMLDialogElement.prototype.close = function close() {
    this.open = false
    queueMicrotask(() => this.dispatchEvent(new Event('close')))
  }
}

/**
 * The console: the page for people, and its script and style. They hold nothing of the service's data and need no
 * token: the page asks for one, and reads the API with it like any other client.
 */
import { readFileSync } from 'node:fs'
import { Type } from '../../machines/schema.ts'
import type { Route } from '../route.ts'
import type { Exchange } from '../wire/exchange.ts'

/** Beside the bundled program, or, for modules that are loaded one by one, where the build has put it. */
const PLACES = ['./console/', '../../bin/console/']

/**
 * The page runs no script but its own, makes no markup from text, is shown in no frame, and connects to nobody but the
 * service: sockets to it are 'self', too, in all browsers that understand the page's style.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const FILES = [
  { path: '/', file: 'index.html', type: 'text/html', operation: 'readConsole', what: 'The page.' },
  {
    path: '/console/main.js',
    file: 'main.js',
    type: 'text/javascript',
    operation: 'readConsoleScript',
    what: 'Its script.',
  },
  { path: '/console/main.css', file: 'main.css', type: 'text/css', operation: 'readConsoleStyle', what: 'Its style.' },
] as const

export function consoleRoutes(): readonly Route[] {
  return FILES.map(({ path, file, type, operation, what }) => {
    let text: string | undefined
    return {
      method: 'GET',
      path,
      operation,
      area: 'service',
      summary: `The console for people in a browser. ${what}`,
      access: { right: 'none' },
      readsNothing: true,
      produces: [type],
      answers: {
        200: {
          description: what,
          contentType: type,
          schema: Type.String(),
          headers: HEADERS,
        },
      },
      handle: (exchange) => {
        text ??= read(file)
        serve(exchange, text, type)
      },
    }
  })
}

const HEADERS = {
  'Content-Security-Policy': 'What the page may load and connect to.',
  'X-Content-Type-Options': '`nosniff`',
  'Referrer-Policy': '`no-referrer`',
  'Cache-Control': '`no-cache`',
}

function serve(exchange: Exchange, text: string, type: string): void {
  exchange
    .setHeader('Content-Type', `${type}; charset=utf-8`)
    .setHeader('Content-Security-Policy', POLICY)
    .setHeader('X-Content-Type-Options', 'nosniff')
    .setHeader('Referrer-Policy', 'no-referrer')
    .setHeader('Cache-Control', 'no-cache')
    .answer(200, text)
}

function read(file: string): string {
  let cause: unknown
  for (const place of PLACES) {
    try {
      return readFileSync(new URL(`${place}${file}`, import.meta.url), 'utf8')
    } catch (error) {
      cause = error
    }
  }
  throw new Error(`the console has not been built (npm run bundle makes it): ${file}`, { cause })
}

/** Where spans go, from the environment variables that every OpenTelemetry exporter reads, and the option of the command. */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { CliFailure } from './exit.ts'
import { readInteger } from './units.ts'

export interface CollectorSettings {
  readonly endpoint: URL
  /** Sent with each request: access to the collector, usually. */
  readonly headers: Readonly<Record<string, string>>
  /** Attributes of the resource that the spans are of. */
  readonly resource: Readonly<Record<string, string>>
  /** Longest time for the collector to answer, in milliseconds. */
  readonly answerMs: number
}

const ENDPOINT_DEFAULT = 'http://localhost:4318'
/** Where a collector takes spans, below its address (OTLP 1.x, OTLP/HTTP Request). */
const TRACES_PATH = 'v1/traces'
const ANSWER_MS_DEFAULT = 10_000
const SERVICE_NAME_DEFAULT = 'intendant'

/**
 * A variable for traces alone (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) is taken before that for all signals. Throws
 * CliFailure.
 * @param address the collector's address as given on the command line, below which spans are taken
 */
export function collectorSettings(address: string | undefined, env: NodeJS.ProcessEnv): CollectorSettings {
  const given = (name: string) => variableOf(env, `OTLP_TRACES_${name}`) ?? variableOf(env, `OTLP_${name}`)
  if (given('PROTOCOL')?.text === 'grpc')
    throw new CliFailure(
      'Only OTLP over HTTP is spoken: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, and its port (4318).',
    )
  return {
    endpoint: endpointIn(address, env),
    headers: headersIn(given('HEADERS')),
    resource: resourceIn(env),
    answerMs: answerMsIn(given('TIMEOUT')),
  }
}

interface Given {
  readonly variable: string
  readonly text: string
}

/** The variable with its text; an empty one counts as unset, as OpenTelemetry demands. */
function variableOf(env: NodeJS.ProcessEnv, name: string, prefix = 'OTEL_EXPORTER_'): Given | undefined {
  const variable = prefix + name
  const text = env[variable]?.trim() ?? ''
  return text === '' ? undefined : { variable, text }
}

function endpointIn(address: string | undefined, env: NodeJS.ProcessEnv): URL {
  const ofTraces = variableOf(env, 'OTLP_TRACES_ENDPOINT')
  const ofAll = variableOf(env, 'OTLP_ENDPOINT')
  if (address === undefined && ofTraces !== undefined) return urlOf(ofTraces.text, ofTraces.variable)
  const url =
    address === undefined
      ? urlOf(ofAll?.text ?? ENDPOINT_DEFAULT, ofAll?.variable ?? 'the address of the collector')
      : urlOf(address, '--endpoint')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${TRACES_PATH}`
  return url
}

function urlOf(text: string, where: string): URL {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new CliFailure(`${where} is "${text}", which is not an http:// or https:// URL. Example: ${ENDPOINT_DEFAULT}`)
  const url = new URL(text)
  if (url.username === '' && url.password === '') return url
  throw new CliFailure(
    `${where} contains a user or a password, which is not supported: use OTEL_EXPORTER_OTLP_HEADERS, for example authorization=Basic%20...`,
  )
}

function resourceIn(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const attributes = pairsIn(variableOf(env, 'RESOURCE_ATTRIBUTES', 'OTEL_'))
  const name = variableOf(env, 'SERVICE_NAME', 'OTEL_')?.text ?? attributes['service.name'] ?? SERVICE_NAME_DEFAULT
  return { ...attributes, 'service.name': name }
}

/** What cannot be sent as a header would otherwise look like a collector that is away, for ever. */
function headersIn(given: Given | undefined): Readonly<Record<string, string>> {
  const headers = pairsIn(given)
  for (const [name, value] of Object.entries(headers)) {
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw new CliFailure(`${given!.variable} has a name or a value that no header can have.`)
    }
  }
  return headers
}

/** `name=value,name=value`, the values percent-encoded (W3C Baggage, without properties). The values may be secret. */
function pairsIn(given: Given | undefined): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {}
  for (const part of given?.text.split(',') ?? []) {
    if (part.trim() === '') continue
    const [name = '', ...rest] = part.split('=')
    const value = decoded(rest.join('=').trim())
    if (name.trim() === '' || rest.length === 0 || value === undefined)
      throw new CliFailure(`${given!.variable} is not a list like name=value,name=value with percent-encoded values.`)
    pairs[name.trim()] = value
  }
  return pairs
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function answerMsIn(given: Given | undefined): number {
  if (given === undefined) return ANSWER_MS_DEFAULT
  const ms = readInteger(given.text, 1, 2 ** 31 - 1)
  if (ms === undefined) throw new CliFailure(`${given.variable} is not a number of milliseconds.`)
  return ms
}

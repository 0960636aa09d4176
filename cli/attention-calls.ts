/**
 * What calls for a person, from one reading of `GET /api/attention` to the next: which calls began, which ended, and which
 * of that is still to be told. Pure: no clock, no I/O.
 */
import { idOf, whatOf } from './attention-page.ts'
import type { Document } from './document.ts'

/** One reason for which a thing needs a person. */
export interface Call {
  /** The same in every reading; another one once the reason has ended and begun again. */
  readonly key: string
  readonly kind: string
  readonly reason: string
  /** Its id, or its name if people chose that. */
  readonly id: string
  readonly project: string
  /** RFC 3339. */
  readonly since: string
  /** What it asks or is, on one line. */
  readonly what: string
}

/** A call, and the item of the list that contains it. */
interface Listed {
  readonly call: Call
  readonly item: Document
}

/** What is to be told of a call. */
export interface News extends Partial<Pick<Listed, 'item'>> {
  readonly change: 'began' | 'ended'
  readonly call: Call
  /** How often it could not be told. */
  readonly failures: number
  /** When it may be tried again, by the clock of whoever tells it. */
  readonly dueMs: number
}

/** Its time moves while it lasts, when another of the runners was the last to be heard; so the time does not name it. */
const OF_NO_FIXED_TIME = 'no_runner_online'

/**
 * What names a call among those of the same thing and reason. An escalated campaign keeps its question while its owner
 * pauses it, from when on it is listed with another time.
 */
function nameOf({ reason, since, campaign }: Document): string {
  if (reason === OF_NO_FIXED_TIME) return ''
  return reason === 'escalated'
    ? `${campaign.cycles_completed} ${campaign.paused?.escalated ?? campaign.reason}`
    : since
}

/** The calls of an item: an initiative calls for each of its questions, everything else once. */
function callsOf(item: Document): readonly Call[] {
  const { kind, reason, project, since, initiative } = item
  const id = idOf(item)
  const call = (named: string, from: string, what: string): Call => ({
    key: [reason, kind, project, id, named].join(' '),
    ...{ kind, reason, id, project, since: from, what },
  })
  if (reason !== 'asked') return [call(nameOf(item), since, whatOf(item))]
  return initiative.questions.map((question: Document) => {
    const alone = { ...item, initiative: { ...initiative, questions: [question] } }
    return call(question.id, question.at, whatOf(alone))
  })
}

export class Calls {
  readonly #told: Map<string, Call>
  readonly #news = new Map<string, News>()
  readonly #tellsEnds: boolean

  /** `told`: the calls of which somebody has been told before. Without `tellsEnds` they are forgotten when they end. */
  constructor(told: readonly Call[], tellsEnds: boolean) {
    this.#told = new Map(told.map((call) => [call.key, call]))
    this.#tellsEnds = tellsEnds
  }

  /** Takes a complete reading. Returns whether `told` has changed. */
  read(items: readonly Document[]): boolean {
    const listed = new Map(items.flatMap((item) => callsOf(item).map((call) => [call.key, { call, item }] as const)))
    for (const [key, one] of listed) this.#isListed(key, one)
    for (const [key, { change }] of this.#news) if (change === 'began' && !listed.has(key)) this.#news.delete(key)
    const over = [...this.#told.values()].filter(({ key }) => !listed.has(key))
    for (const call of over) this.#isOver(call)
    return over.length > 0 && !this.#tellsEnds
  }

  #isListed(key: string, one: Listed): void {
    const news = this.#news.get(key)
    if (news?.change === 'began') this.#news.set(key, { ...news, ...one })
    // One whose end is still to be told has begun again meanwhile: that is what counts now.
    else if (news !== undefined || !this.#told.has(key)) this.#add({ change: 'began', ...one })
  }

  #isOver(call: Call): void {
    if (!this.#tellsEnds) this.#told.delete(call.key)
    else if (!this.#news.has(call.key)) this.#add({ change: 'ended', call })
  }

  #add(news: Pick<News, 'change' | 'call' | 'item'>): void {
    this.#news.set(news.call.key, { ...news, failures: 0, dueMs: Number.NEGATIVE_INFINITY })
  }

  /** The calls that somebody was told of, and of whose end nobody was. */
  get told(): readonly Call[] {
    return [...this.#told.values()]
  }

  /** The first news that may be told at this time; undefined if there is none. */
  next(nowMs: number): News | undefined {
    for (const news of this.#news.values()) if (news.dueMs <= nowMs) return news
    return undefined
  }

  /** When there is something to tell; Infinity if there is nothing. */
  get dueMs(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { dueMs } of this.#news.values()) first = Math.min(first, dueMs)
    return first
  }

  /** It has been told. */
  done({ change, call }: News): void {
    this.#news.delete(call.key)
    if (change === 'began') this.#told.set(call.key, call)
    else this.#told.delete(call.key)
  }

  /** It could not be told, and may be tried again at that time. */
  failed(news: News, dueMs: number): void {
    this.#news.set(news.call.key, { ...news, failures: news.failures + 1, dueMs })
  }
}

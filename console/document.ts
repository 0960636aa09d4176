/** A JSON object of the API. The service checks what it is sent, so the console does not describe it a second time. */
export type Document = Record<string, any>

/** What names it to people, whatever kind of thing it is; empty if nothing does. */
export function idIn({ id, name, key, intent_record }: Document): string {
  return intent_record?.id ?? id ?? name ?? key ?? ''
}

/** The parts of a problem (RFC 9457) that the console shows. */
export interface Problem {
  readonly title: string
  readonly detail?: string
  readonly code?: string
  readonly action?: string
  readonly errors?: readonly { readonly pointer?: string; readonly detail?: string }[]
  /** 0: there was no answer. */
  readonly status: number
}

export type Query = Readonly<Record<string, string | number | undefined>>

/** A field that takes an id, or the first digits of one of the newest things, and opens its page. */
import type { JSX } from 'preact'
import { LIST_LIMIT_MAX } from '../api.ts'
import { KINDS } from '../kinds.ts'
import { problemOf } from '../resource.ts'
import { useGo, useSession } from '../session.ts'
import { hrefFor, pageOfPrefix } from '../words.ts'

const TRACE = /^[0-9a-f]{32}$/
const BEGINNING = /^([a-z]+)_[0-9a-f]{6,23}$/

export function GoTo(): JSX.Element {
  const { api, project } = useSession()
  const open = useGo()

  async function found(text: string): Promise<string | undefined> {
    const whole = TRACE.test(text) ? hrefFor(text, 'trace_id') : hrefFor(text)
    const kind = KINDS[pageOfPrefix(BEGINNING.exec(text)?.[1] ?? '') ?? '']
    if (whole !== undefined || kind === undefined) return whole
    if (kind.isPerProject === true && project === undefined)
      throw new Error('Choose the project, or give the whole id.')
    const { items } = await api.get(kind.list(project ?? ''), { limit: LIST_LIMIT_MAX })
    const [id, another] = items.map(kind.idOf).filter((id: string) => id.startsWith(text))
    if (another !== undefined) throw new Error('Several ids begin so: give more of it.')
    return id && hrefFor(id)
  }

  async function go(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const field = form.elements.namedItem('id') as HTMLInputElement
    try {
      const href = await found(field.value.trim())
      if (href === undefined) throw new Error(`No id of an item, run, brief, record or trace, or none of the newest.`)
      form.reset()
      open(href)
    } catch (error) {
      field.setCustomValidity(error instanceof Error ? error.message : problemOf(error).title)
      field.reportValidity()
    }
  }

  return (
    <form class="go-to" onSubmit={go}>
      <input
        name="id"
        type="search"
        aria-label="Go to an id"
        placeholder="Go to wi_…"
        required
        onInput={({ currentTarget }) => currentTarget.setCustomValidity('')}
      />
    </form>
  )
}

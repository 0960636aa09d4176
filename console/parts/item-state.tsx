/** A work item of which the page knows the id alone: a link to it, and its state. */
import type { JSX } from 'preact'
import { useResource } from '../resource.ts'
import { shortOf } from '../words.ts'
import { Ref, State } from './basics.tsx'

export function ItemState({ id }: { id: string }): JSX.Element {
  const { value } = useResource(`api/work-items/${id}`, { isChangedBy: ({ payload }) => payload.item_id === id })
  return (
    <>
      <Ref to={id}>
        <code>{shortOf(id)}</code>
      </Ref>{' '}
      {value !== undefined && <State of={value.state} />}
    </>
  )
}

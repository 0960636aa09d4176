/** A member of an initiative: a participant, identified by its kind and its name. */
import { type Static, stringEnum, Type } from '../schema.ts'
import { CLOSED, name } from './fields.ts'

export const MEMBER_KINDS = ['campaign', 'work_item', 'project'] as const

/** Most members of an initiative: each is read for every assessment. */
export const MEMBERS_MAX = 64

/** A member as a caller names it: closed, unless `options` say otherwise. */
export function memberSchema(description: string, options: object = { ...CLOSED, title: 'MemberReference' }) {
  return Type.Object(
    {
      kind: stringEnum(MEMBER_KINDS, { description: 'Kind of the member.' }),
      ref: name('Name of the campaign, id of the work item, or key of the project.'),
    },
    { ...options, description },
  )
}

/** A member as stored and served. */
export const shownMember = memberSchema('A member.', { title: 'Member' })
export type Member = Static<typeof shownMember>

/** A member as one text, for map keys and for people. */
export function memberText({ kind, ref }: Member): string {
  return `${kind}:${ref}`
}

export function isSameMember(one: Member | undefined, other: Member | undefined): boolean {
  return one?.kind === other?.kind && one?.ref === other?.ref
}

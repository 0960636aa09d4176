/** A member of an initiative: what takes part in it, by its kind and its name. */
import { type Static, stringEnum, Type } from '../schema.ts'
import { CLOSED, name } from './fields.ts'

export const MEMBER_KINDS = ['campaign', 'work_item', 'project'] as const

/** Most members of an initiative: each is looked at for every assessment. */
export const MEMBERS_MAX = 64

/** What a caller names: closed, unless it is said otherwise. */
export function memberSchema(description: string, options: object = { ...CLOSED, title: 'MemberReference' }) {
  return Type.Object(
    {
      kind: stringEnum(MEMBER_KINDS, { description: 'What it is.' }),
      ref: name('Name of the campaign, id of the work item, key of the project.'),
    },
    { ...options, description },
  )
}

/** As it is kept and served. */
export const shownMember = memberSchema('A member.', { title: 'Member' })
export type Member = Static<typeof shownMember>

/** For maps, and for people. */
export function memberText({ kind, ref }: Member): string {
  return `${kind}:${ref}`
}

export function isSameMember(one: Member | undefined, other: Member | undefined): boolean {
  return one?.kind === other?.kind && one?.ref === other?.ref
}

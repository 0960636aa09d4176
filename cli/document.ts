/**
 * A document of the API as the command line sends, reads and shows it. Its members are not typed: the service may be of
 * another version than this program.
 */
export type Document = Record<string, any>

/** The path of a folder that nobody can make, root neither: it would be below a file. */
export const NOWHERE = '/dev/null/nowhere'

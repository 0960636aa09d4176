/** The path of a folder that nobody can create, not even root, because it would be below a file. */
export const NOWHERE = '/dev/null/nowhere'

/** What a home holds, tokens among it, is for its owner alone: the modes of all files and folders that are made in one. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

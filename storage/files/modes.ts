/** A home, which holds tokens too, is for its owner alone: the modes of all files and folders created in one. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

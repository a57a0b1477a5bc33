// The signed-in person and what the page was served with.

const { session } = document.body.dataset;

/** @type {{person: string, name: string, role: string, account: string, version: string, fileBytes: number, isLocalOwner: boolean, isNew: boolean, permissions: string[], platforms: Record<string, string>}} */
export const current = JSON.parse(session);

/** True for owners, who can install programs on the machine. */
export const isOwner = current.role === "owner";

/** True for admins and owners; members see only their own data. */
export const isAdmin = isOwner || current.role === "admin";

/** Return whether a page that needs this permission is shown. */
export const allowed = (permission) => !permission || current.permissions.includes(permission);

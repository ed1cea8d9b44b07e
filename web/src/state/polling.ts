// Asking again until a computation of the server has ended.

export const POLL_MILLISECONDS = 300;

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

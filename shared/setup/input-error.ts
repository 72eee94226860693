/** Input from a person or another program that cannot be read. The message says what, where and what to do. */
export class InputError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "InputError";
  }
}

interface PasswordFieldProps {
  label: string;
  autocomplete: "current-password" | "new-password";
  value: string;
  onInput: (text: string) => void;
  min?: number;
}

/** A field for a password that exists, or for a new one. */
export function PasswordField({ label, autocomplete, value, onInput, min }: PasswordFieldProps) {
  return (
    <label>
      <span>{label}</span>
      <input type="password" autocomplete={autocomplete} minLength={min} value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </label>
  );
}

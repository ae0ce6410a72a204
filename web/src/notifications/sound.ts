/** The sounds of notifications, made by the browser: there is no file to load. */

interface Tone {
  frequency: number;
  /** Seconds after the beginning, and until it has faded. */
  at: number;
  length: number;
}

/** By the value of the setting `notification_sound`. */
const SOUNDS: Record<string, readonly Tone[]> = {
  ding: [{ frequency: 1_046.5, at: 0, length: 0.7 }],
  zulip: [
    { frequency: 659.26, at: 0, length: 0.35 },
    { frequency: 987.77, at: 0.12, length: 0.6 },
  ],
};
const LOUDNESS = 0.18;
let context: AudioContext | undefined;

/** Play a sound. Nothing is heard until the person has used the page: browsers do not allow it. */
export async function playSound(name: string): Promise<void> {
  const tones = SOUNDS[name];
  if (!tones || typeof AudioContext === "undefined" || navigator.userActivation?.hasBeenActive === false) return;
  context ??= new AudioContext();
  try {
    await context.resume();
  } catch {
    return;
  }
  const start = context.currentTime;
  for (const { frequency, at, length } of tones) {
    const oscillator = context.createOscillator();
    const gain = context.createGain();
    oscillator.frequency.value = frequency;
    gain.gain.setValueAtTime(0, start + at);
    gain.gain.linearRampToValueAtTime(LOUDNESS, start + at + 0.01);
    gain.gain.exponentialRampToValueAtTime(0.000_1, start + at + length);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(start + at);
    oscillator.stop(start + at + length);
  }
}

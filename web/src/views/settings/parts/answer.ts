import { useEffect, useState } from "preact/hooks";
import { get } from "../../../protocol/client";

/** What the server has answered, why it has not, and a function that asks it again. */
export interface Asked<Got> {
  answer: Got | undefined;
  problem: string | undefined;
  ask: () => Promise<void>;
}

/** Ask the server when the component is shown. */
export function useAnswer<Got>(path: string): Asked<Got> {
  const [answer, setAnswer] = useState<Got>();
  const [problem, setProblem] = useState<string>();
  const ask = () =>
    get<Got>(path).then(
      (got) => {
        setAnswer(got);
        setProblem(undefined);
      },
      (error: Error) => setProblem(error.message),
    );
  useEffect(() => void ask(), [path]);
  return { answer, problem, ask };
}

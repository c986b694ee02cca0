/** `kidp cel repl` reads one expression per line and prints its value, in a terminal or through a pipe. */
import { createInterface } from 'node:readline';
import { explain, NonValue, type Result, types } from '../../cel/index.ts';
import { describeProblem, toJson } from './answers.ts';
import { hand } from './output.ts';
import type { CelStreams, Session } from './session.ts';

const HELP = `expression           print its value
name = expression    assign its value to a variable
:type expression     print its type
:explain expression  print the value of each sub-expression
:variables           list the variables
:quit                exit; the end of the input exits too`;

interface Turn {
  readonly session: Session;
  readonly said: string;
}

export async function converse(
  opening: Session,
  first: string | undefined,
  streams: Pick<CelStreams, 'in' | 'out'>,
): Promise<void> {
  const terminal = 'isTTY' in streams.in && streams.in.isTTY === true;
  let session = opening;
  const take = async (line: string): Promise<boolean> => {
    const turn = respond(line.trim(), session);
    session = turn.session;
    return turn.said === '' || hand(streams.out, `${turn.said}\n`);
  };
  if (first !== undefined) await take(first);
  const lines = createInterface({
    input: streams.in,
    terminal,
    prompt: 'cel> ',
    ...(terminal ? { output: streams.out } : {}),
  });
  if (terminal) lines.prompt();
  for await (const line of lines) {
    if (/^\s*:q(uit)?\s*$/.test(line) || !(await take(line))) break;
    if (terminal) lines.prompt();
  }
  lines.close();
}

/** `respond` returns the output for a line, and the session after it. */
function respond(line: string, session: Session): Turn {
  const say = (said: string): Turn => ({ session, said });
  if (line === '') return say('');
  const command = /^:(\w*)\s*(.*)$/s.exec(line);
  if (command === null) return evaluate(line, session);
  const [, word, expression = ''] = command;
  switch (word) {
    case 'type':
    case 't':
      return say(typeOf(expression, session));
    case 'explain':
    case 'e':
      return say(explained(expression, session));
    case 'variables':
      return say(session.names.join('\n'));
    case 'help':
      return say(HELP);
    default:
      return say(`unknown command :${word}; :help lists the commands`);
  }
}

function evaluate(line: string, session: Session): Turn {
  const assignment = /^([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)(.*)$/s.exec(line);
  const compiled = session.compile(assignment?.[2]?.trim() ?? line);
  if (compiled.evaluate === undefined) return { session, said: compiled.message };
  const result: Result = compiled.evaluate(session.values());
  if (result instanceof NonValue) return { session, said: describeProblem(compiled.source, result) };
  const name = assignment?.[1];
  return {
    session: name === undefined ? session : session.declare(name, compiled.type, result),
    said: toJson(result),
  };
}

function typeOf(expression: string, session: Session): string {
  const compiled = session.compile(expression);
  return compiled.evaluate === undefined ? compiled.message : types.typeName(compiled.type);
}

function explained(expression: string, session: Session): string {
  const compiled = session.compile(expression);
  return compiled.evaluate === undefined ? compiled.message : explain(compiled, session.values()).picture;
}

/** A comment as the embed keeps it. Types only: browsers load none of this. */
export interface Comment {
  id: string;
  author: string;
  name: string;
  avatar: string | null;
  karma: number;
  text: string;
  html: string;
  up: number;
  down: number;
  /** seconds */
  created: number;
  modified: number;
  edited: boolean;
  status: string;
  /** whom it hangs under */
  parent: string | null;
  /** whom it answers, which may be deeper than it hangs */
  answers: string | null;
  replies: string[];
  /** replies that are not here yet */
  more: number;
  /** to the next of them */
  cursor: string | null;
  vote: "up" | "down" | null;
  /** on its way to the server */
  sending?: boolean;
}

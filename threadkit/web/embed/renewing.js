// A session whose token has run out.

/** Exchange the tokens for new ones, once for all tabs. Says whether somebody is still signed in. @param {import("./api.js").Api} api @returns {Promise<boolean>} */
export async function renew(api) {
  const old = api.session.token;
  const exchange = async () => {
    api.session = api.stored() ?? api.session;
    if (api.session?.token !== old) return true; // another tab was quicker
    const answer = await api.fetch(`${api.base}/v1/auth/refresh`, {
      method: "POST",
      headers: { projectid: api.project, "content-type": "application/json" },
      body: JSON.stringify({ refresh_token: api.session.refresh_token }),
    });
    if (answer.ok) api.keep({ ...api.session, ...(await answer.json()) });
    else if (answer.status < 429) api.keep(null);
    return answer.ok;
  };
  return navigator.locks ? navigator.locks.request(api.slot, exchange) : exchange();
}

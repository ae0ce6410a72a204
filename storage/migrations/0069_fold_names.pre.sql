-- Names are the same if their foldings are: decomposed, case folded in full, and composed. The server
-- computes a folding (server/domain/names.py), stores it with the name, and SQL compares only what is
-- stored: lower() knows the letters of the database's locale, and no two programs agree on those.
--
-- What is written without a folding (by an older release, or by hand) gets one from the triggers:
-- name_folding computes what the server does; a test compares both for all of Unicode.
CREATE FUNCTION name_folding(p_name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    v_name text := lower(p_name COLLATE "C");
BEGIN
    IF octet_length(v_name) = length(v_name) THEN RETURN v_name; END IF;
    -- A run of letters is gone through only where the name has one of it.
    v_name := lower(normalize(p_name, NFD) COLLATE "C");
    IF v_name ~ '[\u00B5-\u024E]' THEN
        v_name := translate(
            v_name,
            U&'\00B5\00C6\00D0\00D8\00DE\0110\0126\0132\013F\0141\014A\0152\0166\017F\0181\0182\0184'
              '\0186\0187\0189\018A\018B\018E\018F\0190\0191\0193\0194\0196\0197\0198\019C\019D\019F'
              '\01A2\01A4\01A6\01A7\01A9\01AC\01AE\01B1\01B2\01B3\01B5\01B7\01B8\01BC\01C4\01C5\01C7'
              '\01C8\01CA\01CB\01E4\01F1\01F2\01F6\01F7\021C\0220\0222\0224\023A\023B\023D\023E\0241'
              '\0243\0244\0245\0246\0248\024A\024C\024E',
            U&'\03BC\00E6\00F0\00F8\00FE\0111\0127\0133\0140\0142\014B\0153\0167s\0253\0183\0185\0254'
              '\0188\0256\0257\018C\01DD\0259\025B\0192\0260\0263\0269\0268\0199\026F\0272\0275\01A3'
              '\01A5\0280\01A8\0283\01AD\0288\028A\028B\01B4\01B6\0292\01B9\01BD\01C6\01C6\01C9\01C9'
              '\01CC\01CC\01E5\01F3\01F3\0195\01BF\021D\019E\0223\0225\2C65\023C\019A\2C66\0242\0180'
              '\0289\028C\0247\0249\024B\024D\024F');
        v_name := replace(v_name, U&'\00DF', U&'ss');
        v_name := replace(v_name, U&'\0149', U&'\02BCn');
    END IF;
    IF v_name ~ '[\u0345-\u03FF]' THEN
        v_name := translate(
            v_name,
            U&'\0345\0370\0372\0376\037F\0391\0392\0393\0394\0395\0396\0397\0398\0399\039A\039B\039C'
              '\039D\039E\039F\03A0\03A1\03A3\03A4\03A5\03A6\03A7\03A8\03A9\03C2\03CF\03D0\03D1\03D5'
              '\03D6\03D8\03DA\03DC\03DE\03E0\03E2\03E4\03E6\03E8\03EA\03EC\03EE\03F0\03F1\03F4\03F5'
              '\03F7\03F9\03FA\03FD\03FE\03FF',
            U&'\03B9\0371\0373\0377\03F3\03B1\03B2\03B3\03B4\03B5\03B6\03B7\03B8\03B9\03BA\03BB\03BC'
              '\03BD\03BE\03BF\03C0\03C1\03C3\03C4\03C5\03C6\03C7\03C8\03C9\03C3\03D7\03B2\03B8\03C6'
              '\03C0\03D9\03DB\03DD\03DF\03E1\03E3\03E5\03E7\03E9\03EB\03ED\03EF\03BA\03C1\03B8\03B5'
              '\03F8\03F2\03FB\037B\037C\037D');
    END IF;
    IF v_name ~ '[\u0402-\u052E]' THEN
        v_name := translate(
            v_name,
            U&'\0402\0404\0405\0406\0408\0409\040A\040B\040F\0410\0411\0412\0413\0414\0415\0416\0417'
              '\0418\041A\041B\041C\041D\041E\041F\0420\0421\0422\0423\0424\0425\0426\0427\0428\0429'
              '\042A\042B\042C\042D\042E\042F\0460\0462\0464\0466\0468\046A\046C\046E\0470\0472\0474'
              '\0478\047A\047C\047E\0480\048A\048C\048E\0490\0492\0494\0496\0498\049A\049C\049E\04A0'
              '\04A2\04A4\04A6\04A8\04AA\04AC\04AE\04B0\04B2\04B4\04B6\04B8\04BA\04BC\04BE\04C0\04C3'
              '\04C5\04C7\04C9\04CB\04CD\04D4\04D8\04E0\04E8\04F6\04FA\04FC\04FE\0500\0502\0504\0506'
              '\0508\050A\050C\050E\0510\0512\0514\0516\0518\051A\051C\051E\0520\0522\0524\0526\0528'
              '\052A\052C\052E',
            U&'\0452\0454\0455\0456\0458\0459\045A\045B\045F\0430\0431\0432\0433\0434\0435\0436\0437'
              '\0438\043A\043B\043C\043D\043E\043F\0440\0441\0442\0443\0444\0445\0446\0447\0448\0449'
              '\044A\044B\044C\044D\044E\044F\0461\0463\0465\0467\0469\046B\046D\046F\0471\0473\0475'
              '\0479\047B\047D\047F\0481\048B\048D\048F\0491\0493\0495\0497\0499\049B\049D\049F\04A1'
              '\04A3\04A5\04A7\04A9\04AB\04AD\04AF\04B1\04B3\04B5\04B7\04B9\04BB\04BD\04BF\04CF\04C4'
              '\04C6\04C8\04CA\04CC\04CE\04D5\04D9\04E1\04E9\04F7\04FB\04FD\04FF\0501\0503\0505\0507'
              '\0509\050B\050D\050F\0511\0513\0515\0517\0519\051B\051D\051F\0521\0523\0525\0527\0529'
              '\052B\052D\052F');
    END IF;
    IF v_name ~ '[\u0531-\u0587]' THEN
        v_name := translate(
            v_name,
            U&'\0531\0532\0533\0534\0535\0536\0537\0538\0539\053A\053B\053C\053D\053E\053F\0540\0541'
              '\0542\0543\0544\0545\0546\0547\0548\0549\054A\054B\054C\054D\054E\054F\0550\0551\0552'
              '\0553\0554\0555\0556',
            U&'\0561\0562\0563\0564\0565\0566\0567\0568\0569\056A\056B\056C\056D\056E\056F\0570\0571'
              '\0572\0573\0574\0575\0576\0577\0578\0579\057A\057B\057C\057D\057E\057F\0580\0581\0582'
              '\0583\0584\0585\0586');
        v_name := replace(v_name, U&'\0587', U&'\0565\0582');
    END IF;
    IF v_name ~ '[\u10A0-\u10CD]' THEN
        v_name := translate(
            v_name,
            U&'\10A0\10A1\10A2\10A3\10A4\10A5\10A6\10A7\10A8\10A9\10AA\10AB\10AC\10AD\10AE\10AF\10B0'
              '\10B1\10B2\10B3\10B4\10B5\10B6\10B7\10B8\10B9\10BA\10BB\10BC\10BD\10BE\10BF\10C0\10C1'
              '\10C2\10C3\10C4\10C5\10C7\10CD',
            U&'\2D00\2D01\2D02\2D03\2D04\2D05\2D06\2D07\2D08\2D09\2D0A\2D0B\2D0C\2D0D\2D0E\2D0F\2D10'
              '\2D11\2D12\2D13\2D14\2D15\2D16\2D17\2D18\2D19\2D1A\2D1B\2D1C\2D1D\2D1E\2D1F\2D20\2D21'
              '\2D22\2D23\2D24\2D25\2D27\2D2D');
    END IF;
    IF v_name ~ '[\u13F8-\u1CBF]' THEN
        v_name := translate(
            v_name,
            U&'\13F8\13F9\13FA\13FB\13FC\13FD\1C80\1C81\1C82\1C83\1C84\1C85\1C86\1C87\1C88\1C90\1C91'
              '\1C92\1C93\1C94\1C95\1C96\1C97\1C98\1C99\1C9A\1C9B\1C9C\1C9D\1C9E\1C9F\1CA0\1CA1\1CA2'
              '\1CA3\1CA4\1CA5\1CA6\1CA7\1CA8\1CA9\1CAA\1CAB\1CAC\1CAD\1CAE\1CAF\1CB0\1CB1\1CB2\1CB3'
              '\1CB4\1CB5\1CB6\1CB7\1CB8\1CB9\1CBA\1CBD\1CBE\1CBF',
            U&'\13F0\13F1\13F2\13F3\13F4\13F5\0432\0434\043E\0441\0442\0442\044A\0463\A64B\10D0\10D1'
              '\10D2\10D3\10D4\10D5\10D6\10D7\10D8\10D9\10DA\10DB\10DC\10DD\10DE\10DF\10E0\10E1\10E2'
              '\10E3\10E4\10E5\10E6\10E7\10E8\10E9\10EA\10EB\10EC\10ED\10EE\10EF\10F0\10F1\10F2\10F3'
              '\10F4\10F5\10F6\10F7\10F8\10F9\10FA\10FD\10FE\10FF');
    END IF;
    IF v_name ~ '[\u1E9A-\u1EFE]' THEN
        v_name := translate(
            v_name,
            U&'\1EFA\1EFC\1EFE',
            U&'\1EFB\1EFD\1EFF');
        v_name := replace(v_name, U&'\1E9A', U&'a\02BE');
        v_name := replace(v_name, U&'\1E9E', U&'ss');
    END IF;
    IF v_name ~ '[\u2132-\u24CF]' THEN
        v_name := translate(
            v_name,
            U&'\2132\2160\2161\2162\2163\2164\2165\2166\2167\2168\2169\216A\216B\216C\216D\216E\216F'
              '\2183\24B6\24B7\24B8\24B9\24BA\24BB\24BC\24BD\24BE\24BF\24C0\24C1\24C2\24C3\24C4\24C5'
              '\24C6\24C7\24C8\24C9\24CA\24CB\24CC\24CD\24CE\24CF',
            U&'\214E\2170\2171\2172\2173\2174\2175\2176\2177\2178\2179\217A\217B\217C\217D\217E\217F'
              '\2184\24D0\24D1\24D2\24D3\24D4\24D5\24D6\24D7\24D8\24D9\24DA\24DB\24DC\24DD\24DE\24DF'
              '\24E0\24E1\24E2\24E3\24E4\24E5\24E6\24E7\24E8\24E9');
    END IF;
    IF v_name ~ '[\u2C00-\u2CF2]' THEN
        v_name := translate(
            v_name,
            U&'\2C00\2C01\2C02\2C03\2C04\2C05\2C06\2C07\2C08\2C09\2C0A\2C0B\2C0C\2C0D\2C0E\2C0F\2C10'
              '\2C11\2C12\2C13\2C14\2C15\2C16\2C17\2C18\2C19\2C1A\2C1B\2C1C\2C1D\2C1E\2C1F\2C20\2C21'
              '\2C22\2C23\2C24\2C25\2C26\2C27\2C28\2C29\2C2A\2C2B\2C2C\2C2D\2C2E\2C2F\2C60\2C62\2C63'
              '\2C64\2C67\2C69\2C6B\2C6D\2C6E\2C6F\2C70\2C72\2C75\2C7E\2C7F\2C80\2C82\2C84\2C86\2C88'
              '\2C8A\2C8C\2C8E\2C90\2C92\2C94\2C96\2C98\2C9A\2C9C\2C9E\2CA0\2CA2\2CA4\2CA6\2CA8\2CAA'
              '\2CAC\2CAE\2CB0\2CB2\2CB4\2CB6\2CB8\2CBA\2CBC\2CBE\2CC0\2CC2\2CC4\2CC6\2CC8\2CCA\2CCC'
              '\2CCE\2CD0\2CD2\2CD4\2CD6\2CD8\2CDA\2CDC\2CDE\2CE0\2CE2\2CEB\2CED\2CF2',
            U&'\2C30\2C31\2C32\2C33\2C34\2C35\2C36\2C37\2C38\2C39\2C3A\2C3B\2C3C\2C3D\2C3E\2C3F\2C40'
              '\2C41\2C42\2C43\2C44\2C45\2C46\2C47\2C48\2C49\2C4A\2C4B\2C4C\2C4D\2C4E\2C4F\2C50\2C51'
              '\2C52\2C53\2C54\2C55\2C56\2C57\2C58\2C59\2C5A\2C5B\2C5C\2C5D\2C5E\2C5F\2C61\026B\1D7D'
              '\027D\2C68\2C6A\2C6C\0251\0271\0250\0252\2C73\2C76\023F\0240\2C81\2C83\2C85\2C87\2C89'
              '\2C8B\2C8D\2C8F\2C91\2C93\2C95\2C97\2C99\2C9B\2C9D\2C9F\2CA1\2CA3\2CA5\2CA7\2CA9\2CAB'
              '\2CAD\2CAF\2CB1\2CB3\2CB5\2CB7\2CB9\2CBB\2CBD\2CBF\2CC1\2CC3\2CC5\2CC7\2CC9\2CCB\2CCD'
              '\2CCF\2CD1\2CD3\2CD5\2CD7\2CD9\2CDB\2CDD\2CDF\2CE1\2CE3\2CEC\2CEE\2CF3');
    END IF;
    IF v_name ~ '[\uA640-\uA7F5]' THEN
        v_name := translate(
            v_name,
            U&'\A640\A642\A644\A646\A648\A64A\A64C\A64E\A650\A652\A654\A656\A658\A65A\A65C\A65E\A660'
              '\A662\A664\A666\A668\A66A\A66C\A680\A682\A684\A686\A688\A68A\A68C\A68E\A690\A692\A694'
              '\A696\A698\A69A\A722\A724\A726\A728\A72A\A72C\A72E\A732\A734\A736\A738\A73A\A73C\A73E'
              '\A740\A742\A744\A746\A748\A74A\A74C\A74E\A750\A752\A754\A756\A758\A75A\A75C\A75E\A760'
              '\A762\A764\A766\A768\A76A\A76C\A76E\A779\A77B\A77D\A77E\A780\A782\A784\A786\A78B\A78D'
              '\A790\A792\A796\A798\A79A\A79C\A79E\A7A0\A7A2\A7A4\A7A6\A7A8\A7AA\A7AB\A7AC\A7AD\A7AE'
              '\A7B0\A7B1\A7B2\A7B3\A7B4\A7B6\A7B8\A7BA\A7BC\A7BE\A7C0\A7C2\A7C4\A7C5\A7C6\A7C7\A7C9'
              '\A7D0\A7D6\A7D8\A7F5',
            U&'\A641\A643\A645\A647\A649\A64B\A64D\A64F\A651\A653\A655\A657\A659\A65B\A65D\A65F\A661'
              '\A663\A665\A667\A669\A66B\A66D\A681\A683\A685\A687\A689\A68B\A68D\A68F\A691\A693\A695'
              '\A697\A699\A69B\A723\A725\A727\A729\A72B\A72D\A72F\A733\A735\A737\A739\A73B\A73D\A73F'
              '\A741\A743\A745\A747\A749\A74B\A74D\A74F\A751\A753\A755\A757\A759\A75B\A75D\A75F\A761'
              '\A763\A765\A767\A769\A76B\A76D\A76F\A77A\A77C\1D79\A77F\A781\A783\A785\A787\A78C\0265'
              '\A791\A793\A797\A799\A79B\A79D\A79F\A7A1\A7A3\A7A5\A7A7\A7A9\0266\025C\0261\026C\026A'
              '\029E\0287\029D\AB53\A7B5\A7B7\A7B9\A7BB\A7BD\A7BF\A7C1\A7C3\A794\0282\1D8E\A7C8\A7CA'
              '\A7D1\A7D7\A7D9\A7F6');
    END IF;
    IF v_name ~ '[\uAB70-\uABBF]' THEN
        v_name := translate(
            v_name,
            U&'\AB70\AB71\AB72\AB73\AB74\AB75\AB76\AB77\AB78\AB79\AB7A\AB7B\AB7C\AB7D\AB7E\AB7F\AB80'
              '\AB81\AB82\AB83\AB84\AB85\AB86\AB87\AB88\AB89\AB8A\AB8B\AB8C\AB8D\AB8E\AB8F\AB90\AB91'
              '\AB92\AB93\AB94\AB95\AB96\AB97\AB98\AB99\AB9A\AB9B\AB9C\AB9D\AB9E\AB9F\ABA0\ABA1\ABA2'
              '\ABA3\ABA4\ABA5\ABA6\ABA7\ABA8\ABA9\ABAA\ABAB\ABAC\ABAD\ABAE\ABAF\ABB0\ABB1\ABB2\ABB3'
              '\ABB4\ABB5\ABB6\ABB7\ABB8\ABB9\ABBA\ABBB\ABBC\ABBD\ABBE\ABBF',
            U&'\13A0\13A1\13A2\13A3\13A4\13A5\13A6\13A7\13A8\13A9\13AA\13AB\13AC\13AD\13AE\13AF\13B0'
              '\13B1\13B2\13B3\13B4\13B5\13B6\13B7\13B8\13B9\13BA\13BB\13BC\13BD\13BE\13BF\13C0\13C1'
              '\13C2\13C3\13C4\13C5\13C6\13C7\13C8\13C9\13CA\13CB\13CC\13CD\13CE\13CF\13D0\13D1\13D2'
              '\13D3\13D4\13D5\13D6\13D7\13D8\13D9\13DA\13DB\13DC\13DD\13DE\13DF\13E0\13E1\13E2\13E3'
              '\13E4\13E5\13E6\13E7\13E8\13E9\13EA\13EB\13EC\13ED\13EE\13EF');
    END IF;
    IF v_name ~ '[\uFB00-\uFB17]' THEN
        v_name := replace(v_name, U&'\FB00', U&'ff');
        v_name := replace(v_name, U&'\FB01', U&'fi');
        v_name := replace(v_name, U&'\FB02', U&'fl');
        v_name := replace(v_name, U&'\FB03', U&'ffi');
        v_name := replace(v_name, U&'\FB04', U&'ffl');
        v_name := replace(v_name, U&'\FB05', U&'st');
        v_name := replace(v_name, U&'\FB06', U&'st');
        v_name := replace(v_name, U&'\FB13', U&'\0574\0576');
        v_name := replace(v_name, U&'\FB14', U&'\0574\0565');
        v_name := replace(v_name, U&'\FB15', U&'\0574\056B');
        v_name := replace(v_name, U&'\FB16', U&'\057E\0576');
        v_name := replace(v_name, U&'\FB17', U&'\0574\056D');
    END IF;
    IF v_name ~ '[\uFF21-\uFF3A]' THEN
        v_name := translate(
            v_name,
            U&'\FF21\FF22\FF23\FF24\FF25\FF26\FF27\FF28\FF29\FF2A\FF2B\FF2C\FF2D\FF2E\FF2F\FF30\FF31'
              '\FF32\FF33\FF34\FF35\FF36\FF37\FF38\FF39\FF3A',
            U&'\FF41\FF42\FF43\FF44\FF45\FF46\FF47\FF48\FF49\FF4A\FF4B\FF4C\FF4D\FF4E\FF4F\FF50\FF51'
              '\FF52\FF53\FF54\FF55\FF56\FF57\FF58\FF59\FF5A');
    END IF;
    IF v_name ~ '[\U00010400-\U00010595]' THEN
        v_name := translate(
            v_name,
            U&'\+010400\+010401\+010402\+010403\+010404\+010405\+010406\+010407\+010408\+010409\+01040A'
              '\+01040B\+01040C\+01040D\+01040E\+01040F\+010410\+010411\+010412\+010413\+010414\+010415'
              '\+010416\+010417\+010418\+010419\+01041A\+01041B\+01041C\+01041D\+01041E\+01041F\+010420'
              '\+010421\+010422\+010423\+010424\+010425\+010426\+010427\+0104B0\+0104B1\+0104B2\+0104B3'
              '\+0104B4\+0104B5\+0104B6\+0104B7\+0104B8\+0104B9\+0104BA\+0104BB\+0104BC\+0104BD\+0104BE'
              '\+0104BF\+0104C0\+0104C1\+0104C2\+0104C3\+0104C4\+0104C5\+0104C6\+0104C7\+0104C8\+0104C9'
              '\+0104CA\+0104CB\+0104CC\+0104CD\+0104CE\+0104CF\+0104D0\+0104D1\+0104D2\+0104D3\+010570'
              '\+010571\+010572\+010573\+010574\+010575\+010576\+010577\+010578\+010579\+01057A\+01057C'
              '\+01057D\+01057E\+01057F\+010580\+010581\+010582\+010583\+010584\+010585\+010586\+010587'
              '\+010588\+010589\+01058A\+01058C\+01058D\+01058E\+01058F\+010590\+010591\+010592\+010594'
              '\+010595',
            U&'\+010428\+010429\+01042A\+01042B\+01042C\+01042D\+01042E\+01042F\+010430\+010431\+010432'
              '\+010433\+010434\+010435\+010436\+010437\+010438\+010439\+01043A\+01043B\+01043C\+01043D'
              '\+01043E\+01043F\+010440\+010441\+010442\+010443\+010444\+010445\+010446\+010447\+010448'
              '\+010449\+01044A\+01044B\+01044C\+01044D\+01044E\+01044F\+0104D8\+0104D9\+0104DA\+0104DB'
              '\+0104DC\+0104DD\+0104DE\+0104DF\+0104E0\+0104E1\+0104E2\+0104E3\+0104E4\+0104E5\+0104E6'
              '\+0104E7\+0104E8\+0104E9\+0104EA\+0104EB\+0104EC\+0104ED\+0104EE\+0104EF\+0104F0\+0104F1'
              '\+0104F2\+0104F3\+0104F4\+0104F5\+0104F6\+0104F7\+0104F8\+0104F9\+0104FA\+0104FB\+010597'
              '\+010598\+010599\+01059A\+01059B\+01059C\+01059D\+01059E\+01059F\+0105A0\+0105A1\+0105A3'
              '\+0105A4\+0105A5\+0105A6\+0105A7\+0105A8\+0105A9\+0105AA\+0105AB\+0105AC\+0105AD\+0105AE'
              '\+0105AF\+0105B0\+0105B1\+0105B3\+0105B4\+0105B5\+0105B6\+0105B7\+0105B8\+0105B9\+0105BB'
              '\+0105BC');
    END IF;
    IF v_name ~ '[\U00010C80-\U00010CB2]' THEN
        v_name := translate(
            v_name,
            U&'\+010C80\+010C81\+010C82\+010C83\+010C84\+010C85\+010C86\+010C87\+010C88\+010C89\+010C8A'
              '\+010C8B\+010C8C\+010C8D\+010C8E\+010C8F\+010C90\+010C91\+010C92\+010C93\+010C94\+010C95'
              '\+010C96\+010C97\+010C98\+010C99\+010C9A\+010C9B\+010C9C\+010C9D\+010C9E\+010C9F\+010CA0'
              '\+010CA1\+010CA2\+010CA3\+010CA4\+010CA5\+010CA6\+010CA7\+010CA8\+010CA9\+010CAA\+010CAB'
              '\+010CAC\+010CAD\+010CAE\+010CAF\+010CB0\+010CB1\+010CB2',
            U&'\+010CC0\+010CC1\+010CC2\+010CC3\+010CC4\+010CC5\+010CC6\+010CC7\+010CC8\+010CC9\+010CCA'
              '\+010CCB\+010CCC\+010CCD\+010CCE\+010CCF\+010CD0\+010CD1\+010CD2\+010CD3\+010CD4\+010CD5'
              '\+010CD6\+010CD7\+010CD8\+010CD9\+010CDA\+010CDB\+010CDC\+010CDD\+010CDE\+010CDF\+010CE0'
              '\+010CE1\+010CE2\+010CE3\+010CE4\+010CE5\+010CE6\+010CE7\+010CE8\+010CE9\+010CEA\+010CEB'
              '\+010CEC\+010CED\+010CEE\+010CEF\+010CF0\+010CF1\+010CF2');
    END IF;
    IF v_name ~ '[\U000118A0-\U0001E921]' THEN
        v_name := translate(
            v_name,
            U&'\+0118A0\+0118A1\+0118A2\+0118A3\+0118A4\+0118A5\+0118A6\+0118A7\+0118A8\+0118A9\+0118AA'
              '\+0118AB\+0118AC\+0118AD\+0118AE\+0118AF\+0118B0\+0118B1\+0118B2\+0118B3\+0118B4\+0118B5'
              '\+0118B6\+0118B7\+0118B8\+0118B9\+0118BA\+0118BB\+0118BC\+0118BD\+0118BE\+0118BF\+016E40'
              '\+016E41\+016E42\+016E43\+016E44\+016E45\+016E46\+016E47\+016E48\+016E49\+016E4A\+016E4B'
              '\+016E4C\+016E4D\+016E4E\+016E4F\+016E50\+016E51\+016E52\+016E53\+016E54\+016E55\+016E56'
              '\+016E57\+016E58\+016E59\+016E5A\+016E5B\+016E5C\+016E5D\+016E5E\+016E5F\+01E900\+01E901'
              '\+01E902\+01E903\+01E904\+01E905\+01E906\+01E907\+01E908\+01E909\+01E90A\+01E90B\+01E90C'
              '\+01E90D\+01E90E\+01E90F\+01E910\+01E911\+01E912\+01E913\+01E914\+01E915\+01E916\+01E917'
              '\+01E918\+01E919\+01E91A\+01E91B\+01E91C\+01E91D\+01E91E\+01E91F\+01E920\+01E921',
            U&'\+0118C0\+0118C1\+0118C2\+0118C3\+0118C4\+0118C5\+0118C6\+0118C7\+0118C8\+0118C9\+0118CA'
              '\+0118CB\+0118CC\+0118CD\+0118CE\+0118CF\+0118D0\+0118D1\+0118D2\+0118D3\+0118D4\+0118D5'
              '\+0118D6\+0118D7\+0118D8\+0118D9\+0118DA\+0118DB\+0118DC\+0118DD\+0118DE\+0118DF\+016E60'
              '\+016E61\+016E62\+016E63\+016E64\+016E65\+016E66\+016E67\+016E68\+016E69\+016E6A\+016E6B'
              '\+016E6C\+016E6D\+016E6E\+016E6F\+016E70\+016E71\+016E72\+016E73\+016E74\+016E75\+016E76'
              '\+016E77\+016E78\+016E79\+016E7A\+016E7B\+016E7C\+016E7D\+016E7E\+016E7F\+01E922\+01E923'
              '\+01E924\+01E925\+01E926\+01E927\+01E928\+01E929\+01E92A\+01E92B\+01E92C\+01E92D\+01E92E'
              '\+01E92F\+01E930\+01E931\+01E932\+01E933\+01E934\+01E935\+01E936\+01E937\+01E938\+01E939'
              '\+01E93A\+01E93B\+01E93C\+01E93D\+01E93E\+01E93F\+01E940\+01E941\+01E942\+01E943');
    END IF;
    RETURN normalize(v_name, NFC);
END $$;

ALTER TABLE channels ADD COLUMN folded_name text COLLATE "C";
ALTER TABLE topics ADD COLUMN folded_name text COLLATE "C";
ALTER TABLE user_groups ADD COLUMN folded_name text COLLATE "C";
ALTER TABLE channel_folders ADD COLUMN folded_name text COLLATE "C";
ALTER TABLE default_channel_groups ADD COLUMN folded_name text COLLATE "C";
ALTER TABLE users ADD COLUMN folded_name text COLLATE "C";

CREATE FUNCTION fold_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_name text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
    -- A name that changes in case only keeps its folding; one that an older release has changed
    -- comes with that of the old name.
    IF TG_OP = 'INSERT' OR NEW.folded_name IS NULL
       OR name_folding(v_name) <> name_folding(to_jsonb(OLD) ->> TG_ARGV[0]) THEN
        NEW.folded_name := name_folding(v_name);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER fold_new_name BEFORE INSERT ON channels
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON channels
    FOR EACH ROW WHEN (NEW.name IS DISTINCT FROM OLD.name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_new_name BEFORE INSERT ON topics
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON topics
    FOR EACH ROW WHEN (NEW.name IS DISTINCT FROM OLD.name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_new_name BEFORE INSERT ON user_groups
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON user_groups
    FOR EACH ROW WHEN (NEW.name IS DISTINCT FROM OLD.name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_new_name BEFORE INSERT ON channel_folders
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON channel_folders
    FOR EACH ROW WHEN (NEW.name IS DISTINCT FROM OLD.name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_new_name BEFORE INSERT ON default_channel_groups
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON default_channel_groups
    FOR EACH ROW WHEN (NEW.name IS DISTINCT FROM OLD.name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('name');
CREATE TRIGGER fold_new_name BEFORE INSERT ON users
    FOR EACH ROW WHEN (NEW.folded_name IS NULL) EXECUTE FUNCTION fold_name('full_name');
CREATE TRIGGER fold_changed_name BEFORE UPDATE OF full_name ON users
    FOR EACH ROW WHEN (NEW.full_name IS DISTINCT FROM OLD.full_name
                       AND NEW.folded_name IS NOT DISTINCT FROM OLD.folded_name)
    EXECUTE FUNCTION fold_name('full_name');

-- Fills what is there already, two hundred rows at a time. Each time commits, but where all migrations
-- are one transaction, as when a backup is restored.
CREATE PROCEDURE fill_foldings(p_table text, p_id text, p_name text)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_realm_id bigint := 0;
    v_id bigint := 0;
BEGIN
    LOOP
        -- Row by row by the primary key, whatever the planner thinks of the table.
        PERFORM set_config(name, 'off', true)
           FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name;
        EXECUTE format(
            'WITH batch AS MATERIALIZED (
                 SELECT realm_id, %2$I FROM %1$I
                  WHERE (realm_id, %2$I) > ($1, $2) AND folded_name IS NULL
                  ORDER BY realm_id, %2$I LIMIT 200 FOR NO KEY UPDATE
             ), filled AS (
                 UPDATE %1$I t SET folded_name = name_folding(t.%3$I)
                   FROM batch s WHERE t.realm_id = s.realm_id AND t.%2$I = s.%2$I
             )
             SELECT realm_id, %2$I FROM batch ORDER BY realm_id DESC, %2$I DESC LIMIT 1',
            p_table, p_id, p_name)
           INTO v_realm_id, v_id USING v_realm_id, v_id;
        EXIT WHEN v_id IS NULL;
        IF current_setting('parley.one_transaction', true) IS DISTINCT FROM 'on' THEN COMMIT; END IF;
    END LOOP;
    PERFORM set_config(name, 'on', true)
       FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name;
END $$;

-- The following three take a folding beside a name. The older release calls them without it.
CREATE FUNCTION send_message(p_realm_id bigint, p_sender_id bigint, p_sender_version bigint, p_realm_version bigint, p_groups_version bigint, p_channel_id bigint, p_channel_version bigint, p_subscription_version bigint, p_topic_id bigint, p_topic_name text, p_dm_group_id bigint, p_dm_user_ids bigint[], p_dm_versions bigint[], p_sent_at timestamp with time zone, p_traits integer, p_client text, p_content text, p_rendered text, p_flagged_user_ids bigint[], p_flags integer[], p_audience bytea, p_body bytea, p_write_id uuid, p_idempotency_key text, p_idempotency_digest bytea, p_policy_started smallint, p_policy_sent smallint, p_policy_mentioned bigint[], p_follows_by_default boolean, p_empty_topic_name text, p_topic_folding text, OUT outcome text, OUT message_id bigint, OUT conversation_id bigint, OUT new_policy smallint, OUT known_digest bytea) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    outcome := 'stale';

    IF p_idempotency_key IS NOT NULL THEN
        SELECT k.digest, k.message_id, k.visibility_policy INTO known_digest, message_id, new_policy
          FROM idempotency_keys k
         WHERE k.realm_id = p_realm_id AND k.user_id = p_sender_id AND k.key = p_idempotency_key;
        IF FOUND THEN
            outcome := 'known';
            RETURN;
        END IF;
    END IF;

    PERFORM FROM realms r JOIN users u ON u.realm_id = r.realm_id AND u.user_id = p_sender_id
      WHERE r.realm_id = p_realm_id AND r.changed_at = p_realm_version
        AND r.groups_changed_at = p_groups_version AND u.changed_at = p_sender_version;
    IF NOT FOUND THEN RETURN; END IF;

    IF p_channel_id IS NOT NULL THEN
        PERFORM FROM channels c
          LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_sender_id
               AND s.channel_id = p_channel_id
         WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id
           AND c.changed_at = p_channel_version
           AND s.changed_at IS NOT DISTINCT FROM p_subscription_version;
        IF NOT FOUND THEN RETURN; END IF;
        IF p_topic_id IS NOT NULL THEN
            conversation_id := p_topic_id;
            PERFORM FROM topics t WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id
                AND t.channel_id = p_channel_id AND t.name = p_topic_name;
            IF NOT FOUND THEN RETURN; END IF;
        ELSE
            PERFORM FROM topics t WHERE t.realm_id = p_realm_id
                AND t.channel_id = p_channel_id AND t.folded_name = p_topic_folding;
            IF FOUND THEN RETURN; END IF;
            INSERT INTO topics (realm_id, channel_id, name, folded_name)
            VALUES (p_realm_id, p_channel_id, p_topic_name, p_topic_folding)
            ON CONFLICT DO NOTHING
            RETURNING topic_id INTO conversation_id;
            IF NOT FOUND THEN RETURN; END IF;
        END IF;
    ELSE
        PERFORM FROM unnest(p_dm_user_ids, p_dm_versions) AS d(user_id, version)
          LEFT JOIN users u ON u.realm_id = p_realm_id AND u.user_id = d.user_id
         WHERE u.changed_at IS DISTINCT FROM d.version;
        IF FOUND THEN RETURN; END IF;
        conversation_id := p_dm_group_id;
        PERFORM FROM dm_groups g WHERE g.realm_id = p_realm_id AND g.dm_group_id = p_dm_group_id;
        IF NOT FOUND THEN
            INSERT INTO dm_groups (realm_id, dm_group_id, user_ids)
            VALUES (p_realm_id, p_dm_group_id, p_dm_user_ids)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN; END IF;
            INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
            SELECT p_realm_id, unnest(p_dm_user_ids), p_dm_group_id;
        END IF;
    END IF;

    outcome := 'sent';
    message_id := append_entry(p_realm_id, 'message', p_audience, p_body, p_write_id);
    INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id, origin_channel_id,
                          origin_conversation_id, sent_at, traits, client, content, rendered_content)
    VALUES (p_realm_id, message_id, p_sender_id, p_channel_id, conversation_id, p_channel_id,
            conversation_id, p_sent_at, p_traits, p_client, p_content, p_rendered);

    IF cardinality(p_flagged_user_ids) > 0 THEN
        INSERT INTO message_flags (realm_id, user_id, message_id, flags)
        SELECT p_realm_id, f.user_id, message_id, f.flags
          FROM unnest(p_flagged_user_ids, p_flags) AS f(user_id, flags)
         -- By the span: `active` is changed before the clock, by writes of this commit that
         -- have their turn later.
         WHERE p_channel_id IS NULL OR EXISTS (
               SELECT FROM subscriptions s WHERE s.realm_id = p_realm_id AND s.user_id = f.user_id
                  AND s.channel_id = p_channel_id AND s.spans @> message_id);
    END IF;

    IF p_channel_id IS NOT NULL AND (p_policy_started IS NOT NULL OR p_policy_mentioned <> '{}') THEN
        new_policy := change_policies_by_send(
            p_realm_id, p_sender_id, conversation_id, message_id, p_policy_started, p_policy_sent,
            p_policy_mentioned, p_follows_by_default, p_sent_at, p_empty_topic_name, p_write_id);
    END IF;

    IF p_idempotency_key IS NOT NULL THEN
        INSERT INTO idempotency_keys (realm_id, user_id, key, digest, message_id, visibility_policy)
        VALUES (p_realm_id, p_sender_id, p_idempotency_key, p_idempotency_digest, message_id, new_policy);
    END IF;
END $$;

CREATE FUNCTION rename_topic(p_realm_id bigint, p_topic_id bigint, p_name text, p_folding text, p_rename jsonb, p_last_id bigint, p_audiences bytea[], p_ids jsonb, p_body jsonb, p_message_id bigint, p_from_body jsonb, p_to_body jsonb, p_work_id uuid, p_work jsonb, p_job bytea, p_write_id uuid) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_new bigint[] := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id AND m.id > p_last_id
         ORDER BY m.id);
    v_ids bigint[];
    v_some bigint[];
    v_position bigint;
    v_users bigint[];
    v_policies integer[];
BEGIN
    IF v_new <> '{}' AND cardinality(p_audiences) > 1 THEN RETURN 'stale'; END IF;
    PERFORM FROM topics t JOIN topics o ON o.realm_id = t.realm_id AND o.channel_id = t.channel_id
        AND o.folded_name = p_folding AND o.topic_id <> t.topic_id
      WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;
    IF FOUND THEN RETURN 'stale'; END IF;

    FOR v_index IN 1 .. cardinality(p_audiences) LOOP
        v_ids := ARRAY(SELECT jsonb_array_elements_text(p_ids -> (v_index - 1))::bigint) || v_new;
        FOR v_start IN 1 .. cardinality(v_ids) BY 1000 LOOP
            v_some := v_ids[v_start : v_start + 999];
            v_position := append_entry(p_realm_id, 'update_message', p_audiences[v_index],
                convert_to((p_body || jsonb_build_object(
                    'message_ids', to_jsonb(v_some),
                    'message_id', CASE WHEN p_message_id = ANY (v_some) THEN p_message_id
                                       ELSE v_some[1] END))::text, 'UTF8'), p_write_id);
            IF p_message_id = ANY (v_some) THEN
                PERFORM add_reader_flags(p_realm_id, p_message_id);
            END IF;
        END LOOP;
    END LOOP;
    UPDATE topics t
       SET name = p_name, folded_name = p_folding,
           renames = coalesce(t.renames, '[]')
                     || (p_rename || jsonb_build_object('position', current_position()))
     WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;

    -- The rows of user_topics belong to the topic, whatever it is called.
    SELECT array_agg(u.user_id) INTO v_users
      FROM user_topics u
     WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id AND u.visibility_policy <> 0;
    IF v_users IS NOT NULL THEN
        PERFORM append_user_topic_entries(p_realm_id, v_users,
            array_fill(0, ARRAY[cardinality(v_users)]), p_from_body, p_write_id);
        DELETE FROM user_topics u
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id
           AND u.user_id IN (
               SELECT unnest(strangers_to_topic(p_realm_id, v_users, p_topic_id)));
        SELECT array_agg(u.user_id), array_agg(u.visibility_policy) INTO v_users, v_policies
          FROM user_topics u
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id AND u.visibility_policy <> 0;
        PERFORM append_user_topic_entries(p_realm_id, v_users, v_policies, p_to_body, p_write_id);
        UPDATE user_topics u SET last_updated = to_timestamp((p_to_body ->> 'last_updated')::bigint)
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id;
    END IF;

    IF p_work_id IS NOT NULL THEN
        INSERT INTO stepped_work (realm_id, work_id, plan) VALUES (p_realm_id, p_work_id, p_work);
        PERFORM append_entry(p_realm_id, 'job', ''::bytea, p_job, p_write_id);
    END IF;
    RETURN 'renamed';
END $$;

CREATE FUNCTION set_named_topic_policy(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_name text, p_topic_folding text, p_policy smallint, p_at timestamp with time zone, p_empty_topic_name text, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_topic_id bigint := (ARRAY(
        SELECT t.topic_id FROM topics t WHERE t.realm_id = p_realm_id
           AND t.channel_id = p_channel_id AND t.folded_name = p_topic_folding
         ORDER BY t.topic_id))[1];
BEGIN
    IF v_topic_id IS NULL AND p_policy <> 0 THEN
        INSERT INTO topics (realm_id, channel_id, name, folded_name)
        VALUES (p_realm_id, p_channel_id, p_topic_name, p_topic_folding) RETURNING topic_id INTO v_topic_id;
    END IF;
    PERFORM set_topic_policy(p_realm_id, ARRAY[p_user_id], v_topic_id, p_policy, p_at,
                             p_empty_topic_name, p_write_id);
END $$;
